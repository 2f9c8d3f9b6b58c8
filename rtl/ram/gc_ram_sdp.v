// SPDX-License-Identifier: Apache-2.0
// Simple dual-port memory: one write and one read port on one clock. Reads take 1 cycle, 2 with OUT_REG; the output
// keeps its word while s_rd_en is low. Reading an address in the cycle in which it is written returns the old word. The
// contents are not reset. This is the only place of the library with memory inference; wide memories are many of these.
`default_nettype none

module gc_ram_sdp #(
    parameter WIDTH   = 16,
    parameter DEPTH   = 512,
    parameter OUT_REG = 0    // 1: another register after the memory
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
    endgenerate

    reg [WIDTH-1:0] memory [0:DEPTH-1];
    reg [WIDTH-1:0] word_q;

    always @(posedge clk) begin
        if (s_wr_en) memory[s_wr_addr] <= s_wr_data;
        if (s_rd_en) word_q <= memory[s_rd_addr];
    end

    generate
        if (OUT_REG != 0) begin : g_out_reg
            reg             en_q;
            reg [WIDTH-1:0] out_q;
            always @(posedge clk) begin
                en_q <= s_rd_en;
                if (en_q) out_q <= word_q;
            end
            assign m_rd_data = out_q;
        end else begin : g_direct
            assign m_rd_data = word_q;
        end
    endgenerate
endmodule

`default_nettype wire
