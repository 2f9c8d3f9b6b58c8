// SPDX-License-Identifier: Apache-2.0
// Transposable weight memory of DEPTH rows in COLS banks (circulant, after Venkataramanaiah et al., FPL 2019): a row is
// written rotated by its number, so a row and a column of the matrix both touch each bank once. Writing puts word j into bank
// (j + rot) mod COLS; reading gives lane j the word of bank (j + rot) mod COLS at address addr + (ramp ? j : 0) mod DEPTH.
// One row is written and one read per cycle, free running; data leave LATENCY cycles after their request. A request sees
// the writes of all earlier cycles; since LATENCY - 4 cycles are spent waiting, it also sees those of that many more cycles.
`default_nettype none

module weight_buffer #(
    parameter COLS    = 16,    // banks and words of a row, 4..64, a power of two
    parameter DW      = 16,    // bits of a weight, 8..16
    parameter DEPTH   = 1024,  // rows, a power of two, at least 16
    parameter LATENCY = 4      // of a read, at least 4
) (
    input  wire                     clk,
    input  wire                     rst,
    input  wire                     s_wr_valid,
    input  wire [$clog2(DEPTH)-1:0] s_wr_addr,
    input  wire [$clog2(COLS)-1:0]  s_wr_rot,
    input  wire [COLS*DW-1:0]       s_wr_data,
    input  wire                     s_rd_valid,
    input  wire [$clog2(DEPTH)-1:0] s_rd_addr,
    input  wire [$clog2(COLS)-1:0]  s_rd_rot,
    input  wire                     s_rd_ramp,
    output wire                     m_rd_valid,
    output wire [COLS*DW-1:0]       m_rd_data
);
    localparam ADDR_W  = $clog2(DEPTH);
    localparam ROT_W   = $clog2(COLS);
    localparam WAIT    = LATENCY - 4;
    localparam REQ_W   = ADDR_W + ROT_W + 1;

    generate
        if (COLS < 4 || COLS > 64 || (COLS & (COLS-1)) != 0) begin : g_illegal_cols
            gradcore_illegal_parameter_COLS_not_a_power_of_two_from_4_to_64 u_stop ();
        end
        if (DW < 8 || DW > 16) begin : g_illegal_dw
            gradcore_illegal_parameter_DW_not_8_to_16 u_stop ();
        end
        if (DEPTH < 16 || (DEPTH & (DEPTH-1)) != 0) begin : g_illegal_depth
            gradcore_illegal_parameter_DEPTH_not_a_power_of_two_from_16 u_stop ();
        end
        if (LATENCY < 4) begin : g_illegal_latency
            gradcore_illegal_parameter_LATENCY_below_4 u_stop ();
        end
    endgenerate

    // Write: bank b takes word b - rot.
    wire [COLS*DW-1:0] wr_banks;
    reg                wr_valid_q;
    reg [ADDR_W-1:0]   wr_addr_q;
    reg [COLS*DW-1:0]  wr_banks_q;

    word_rotate #(
        .N(COLS),
        .W(DW)
    ) u_wr_rotate (
        .s_rot (-s_wr_rot),
        .s_data(s_wr_data),
        .m_data(wr_banks)
    );

    always @(posedge clk) begin
        wr_valid_q <= s_wr_valid;
        wr_addr_q  <= s_wr_addr;
        wr_banks_q <= wr_banks;
        if (rst)
            wr_valid_q <= 1'b0;
    end

    // Read: the narrow request waits, not the data. Bit i of rd_valid: the request came i cycles ago.
    reg  [LATENCY-1:0] valid_q;
    wire [LATENCY:0]   rd_valid = {valid_q, s_rd_valid};
    wire [REQ_W-1:0]   request;

    always @(posedge clk) begin
        valid_q <= rd_valid[LATENCY-1:0];
        if (rst)
            valid_q <= {LATENCY{1'b0}};
    end

    generate
        if (WAIT == 0) begin : g_no_wait
            assign request = {s_rd_ramp, s_rd_rot, s_rd_addr};
        end else begin : g_wait
            reg  [WAIT*REQ_W-1:0]     request_q;
            wire [(WAIT+1)*REQ_W-1:0] chain = {request_q, s_rd_ramp, s_rd_rot, s_rd_addr};
            always @(posedge clk)
                request_q <= chain[WAIT*REQ_W-1:0];
            assign request = chain[WAIT*REQ_W +: REQ_W];
        end
    endgenerate

    wire              ramp;
    wire [ROT_W-1:0]  rot;
    wire [ADDR_W-1:0] addr;
    assign {ramp, rot, addr} = request;

    // The rotation goes with the words: address, memory and memory output register.
    reg [ROT_W-1:0] addr_rot_q;
    reg [ROT_W-1:0] word_rot_q;
    reg [ROT_W-1:0] out_rot_q;

    always @(posedge clk) begin
        addr_rot_q <= rot;
        word_rot_q <= addr_rot_q;
        out_rot_q  <= word_rot_q;
    end

    wire [COLS*DW-1:0] rd_banks;

    genvar b;
    generate
        for (b = 0; b < COLS; b = b + 1) begin : g_bank
            localparam [ROT_W-1:0] BANK = b;
            wire [ROT_W-1:0]  lane = BANK - rot;
            wire [ADDR_W-1:0] rise;
            reg  [ADDR_W-1:0] addr_q;

            if (ADDR_W > ROT_W) begin : g_wide
                assign rise = {{(ADDR_W-ROT_W){1'b0}}, lane & {ROT_W{ramp}}};
            end else begin : g_narrow
                assign rise = lane[ADDR_W-1:0] & {ADDR_W{ramp}};
            end

            always @(posedge clk)
                addr_q <= addr + rise;

            ram_sdp #(
                .WIDTH  (DW),
                .DEPTH  (DEPTH),
                .OUT_REG(1)
            ) u_ram (
                .clk      (clk),
                .s_wr_en  (wr_valid_q),
                .s_wr_addr(wr_addr_q),
                .s_wr_data(wr_banks_q[b*DW +: DW]),
                .s_rd_en  (rd_valid[WAIT+1]),
                .s_rd_addr(addr_q),
                .m_rd_data(rd_banks[b*DW +: DW])
            );
        end
    endgenerate

    wire [COLS*DW-1:0] lanes;
    reg  [COLS*DW-1:0] lanes_q;

    word_rotate #(
        .N(COLS),
        .W(DW)
    ) u_rd_rotate (
        .s_rot (out_rot_q),
        .s_data(rd_banks),
        .m_data(lanes)
    );

    always @(posedge clk)
        lanes_q <= lanes;

    assign m_rd_valid = rd_valid[LATENCY];
    assign m_rd_data  = lanes_q;
endmodule

`default_nettype wire
