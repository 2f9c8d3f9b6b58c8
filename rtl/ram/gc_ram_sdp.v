// SPDX-License-Identifier: Apache-2.0
// Simple dual-port memory: one write and one read port on one clock. Reads take 1 cycle, 2 with OUT_REG; the output
// keeps its word while s_rd_en is low. Reading an address in the cycle in which it is written returns the old word;
// with OLD_WORD 0 any word, in hardware. The contents are not reset. With gc_ram_ultra the only place of the library
// with memory inference; wide memories are many of these.
`default_nettype none

module gc_ram_sdp #(
    parameter WIDTH    = 16,
    parameter DEPTH    = 512,
    parameter OUT_REG  = 0,  // 1: another register after the memory
    parameter OLD_WORD = 1,  // 0: nobody needs a word that is read while it is written; some block RAMs are cheaper so
    parameter ULTRA    = 0   // 1: UltraRAM (UltraScale+); 0: what synthesis chooses
) (
    input  wire                     clk,
    input  wire                     s_wr_en,
    input  wire [$clog2(DEPTH)-1:0] s_wr_addr,
    input  wire [WIDTH-1:0]         s_wr_data,
    input  wire                     s_rd_en,
    input  wire [$clog2(DEPTH)-1:0] s_rd_addr,
    output wire [WIDTH-1:0]         m_rd_data
);
    generate
        if (DEPTH < 2) begin : g_illegal_depth
            gradcore_illegal_parameter_DEPTH_below_2 u_stop ();
        end
        if (WIDTH < 1) begin : g_illegal_width
            gradcore_illegal_parameter_WIDTH_below_1 u_stop ();
        end
        if (OUT_REG != 0 && OUT_REG != 1) begin : g_illegal_out_reg
            gradcore_illegal_parameter_OUT_REG_not_0_or_1 u_stop ();
        end
        if (OLD_WORD != 0 && OLD_WORD != 1) begin : g_illegal_old_word
            gradcore_illegal_parameter_OLD_WORD_not_0_or_1 u_stop ();
        end
        if (ULTRA != 0 && ULTRA != 1) begin : g_illegal_ultra
            gradcore_illegal_parameter_ULTRA_not_0_or_1 u_stop ();
        end
    endgenerate

    wire [WIDTH-1:0] word;   // read, until the next read

    generate
        if (ULTRA != 0) begin : g_ultra
            gc_ram_ultra #(.WIDTH(WIDTH), .DEPTH(DEPTH)) u_ultra (
                .clk(clk), .s_wr_en(s_wr_en), .s_wr_addr(s_wr_addr), .s_wr_data(s_wr_data),
                .s_rd_en(s_rd_en), .s_rd_addr(s_rd_addr), .m_data(word)
            );
        end
        if (ULTRA == 0 && OLD_WORD != 0) begin : g_any
            reg [WIDTH-1:0] memory [0:DEPTH-1];
            reg [WIDTH-1:0] word_q;

            always @(posedge clk) begin
                if (s_wr_en) memory[s_wr_addr] <= s_wr_data;
                if (s_rd_en) word_q <= memory[s_rd_addr];
            end
            assign word = word_q;
        end
        if (ULTRA == 0 && OLD_WORD == 0) begin : g_apart   // the same, but for what tools are told
            (* no_rw_check, rw_addr_collision = "no", ramstyle = "no_rw_check" *)
            reg [WIDTH-1:0] memory [0:DEPTH-1];
            reg [WIDTH-1:0] word_q;

            always @(posedge clk) begin
                if (s_wr_en) memory[s_wr_addr] <= s_wr_data;
                if (s_rd_en) word_q <= memory[s_rd_addr];   // not while it is written
            end
            assign word = word_q;
        end
        if (OUT_REG != 0) begin : g_out_reg
            reg             en_q;
            reg [WIDTH-1:0] out_q;
            always @(posedge clk) begin
                en_q <= s_rd_en;
                if (en_q) out_q <= word;
            end
            assign m_rd_data = out_q;
        end else begin : g_direct
            assign m_rd_data = word;
        end
    endgenerate
endmodule

`default_nettype wire
