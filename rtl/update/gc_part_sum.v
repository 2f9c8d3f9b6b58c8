// SPDX-License-Identifier: Apache-2.0
// Sum or difference of two numbers of W bits, modulo 2^W. Each of PARTS cycles adds one part of W / PARTS bits, the
// lowest first and with the last what remains, so no carry is longer. One result per cycle, PARTS cycles latency, free
// running.
`default_nettype none

module gc_part_sum #(
    parameter W        = 48,
    parameter PARTS    = 3,
    parameter SUBTRACT = 0     // 1: s_a - s_b
) (
    input  wire         clk,
    input  wire [W-1:0] s_a,
    input  wire [W-1:0] s_b,
    output wire [W-1:0] m_sum
);
    localparam PART = W / PARTS;

    generate
        if (PARTS < 1 || PARTS > W) begin : g_illegal_parts
            gradcore_illegal_parameter_PARTS_must_be_1_to_W u_stop ();
        end
    endgenerate

    wire [W-1:0]   b = SUBTRACT != 0 ? ~s_b : s_b;
    wire [PARTS:0] carry;
    assign carry[0] = SUBTRACT != 0;

    genvar p;
    generate
        for (p = 0; p < PARTS; p = p + 1) begin : g_part
            localparam LOW  = p * PART;
            localparam BITS = p == PARTS - 1 ? W - LOW : PART;
            wire [BITS-1:0] part_a;
            wire [BITS-1:0] part_b;
            reg  [BITS:0]   sum_q;
            gc_delay_line #(.W(BITS), .CYCLES(p), .CLEAR(0)) u_a (
                .clk(clk), .clear(1'b0), .s_data(s_a[LOW +: BITS]), .m_data(part_a)
            );
            gc_delay_line #(.W(BITS), .CYCLES(p), .CLEAR(0)) u_b (
                .clk(clk), .clear(1'b0), .s_data(b[LOW +: BITS]), .m_data(part_b)
            );
            always @(posedge clk) sum_q <= {1'b0, part_a} + {1'b0, part_b} + {{BITS{1'b0}}, carry[p]};
            assign carry[p+1] = sum_q[BITS];
            gc_delay_line #(.W(BITS), .CYCLES(PARTS - 1 - p), .CLEAR(0)) u_hold (
                .clk(clk), .clear(1'b0), .s_data(sum_q[BITS-1:0]), .m_data(m_sum[LOW +: BITS])
            );
        end
    endgenerate

    wire _unused = &{1'b0, carry[PARTS]};
endmodule

`default_nettype wire
