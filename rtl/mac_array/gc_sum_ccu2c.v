// SPDX-License-Identifier: Apache-2.0
// A sum on the carry chain of the ECP5: acc = (first ? 0 : acc) + addend modulo 2^ACC_W, with `add`. m_acc holds it 2
// cycles after its addend: a register between a multiplier and the chain lets them lie apart. `ahead` is `first`, a
// cycle before add and addend. CCU2C by its name (FPGA-TN-02200): each adds two bits and has an input left for `first`,
// which synthesis would spend a LUT per bit on.
`default_nettype none

module gc_sum_ccu2c #(
    parameter ACC_W = 48
) (
    input  wire             clk,
    input  wire             add,
    input  wire             ahead,
    input  wire [ACC_W-1:0] s_addend,
    output wire [ACC_W-1:0] m_acc
);
    localparam PAIRS = (ACC_W + 1) / 2;
    // A is the sum, B the addend, C `first`, D one. The lookup table gives A ^ B, or B with C; its first four places
    // are the carry where that is zero: B.
    localparam [15:0] INIT = 16'b1100_0110_1100_1100;

    // A register of each sum's own, by its name: synthesis would make one of all of them, with a net to every bit.
    wire first;
    reg  ahead_q, add_q;
    FD1S3AX #(.GSR("DISABLED")) u_first (.D(ahead_q), .CK(clk), .Q(first));

    reg  [ACC_W-1:0]   addend_q, acc_q;
    wire [2*PAIRS-1:0] acc    = {{(2*PAIRS-ACC_W){1'b0}}, acc_q};
    wire [2*PAIRS-1:0] addend = {{(2*PAIRS-ACC_W){1'b0}}, addend_q};
    wire [2*PAIRS-1:0] sum;

    genvar p;
    generate
        for (p = 0; p < PAIRS; p = p + 1) begin : g_pair
            wire from, to;
            if (p == 0) begin : g_begin
                assign from = 1'b0;
            end else begin : g_carry
                assign from = g_pair[p-1].to;
            end
            CCU2C #(.INIT0(INIT), .INIT1(INIT), .INJECT1_0("NO"), .INJECT1_1("NO")) u_add (
                .CIN(from), .A0(acc[2*p]), .B0(addend[2*p]), .C0(first), .D0(1'b1), .A1(acc[2*p+1]),
                .B1(addend[2*p+1]), .C1(first), .D1(1'b1), .S0(sum[2*p]), .S1(sum[2*p+1]), .COUT(to)
            );
        end
    endgenerate

    always @(posedge clk) begin
        ahead_q  <= ahead;
        add_q    <= add;
        addend_q <= s_addend;
        if (add_q) acc_q <= sum[ACC_W-1:0];
    end
    assign m_acc = acc_q;

    wire _unused = &{1'b0, sum, g_pair[PAIRS-1].to};
endmodule

`default_nettype wire
