// SPDX-License-Identifier: Apache-2.0
// Sum or difference of two numbers of W bits, modulo 2^W. Each of PARTS cycles adds one part, the lowest first, so no
// carry is longer than ceil(W / PARTS) bits. One result per cycle, PARTS cycles latency, free running.
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
    localparam PART = (W + PARTS - 1) / PARTS;
    localparam ALL  = PART * PARTS;

    generate
        if (PARTS < 1 || PARTS > W) begin : g_illegal_parts
            gradcore_illegal_parameter_PARTS_must_be_1_to_W u_stop ();
        end
    endgenerate

    // The bits that fill up the last part are not part of the result.
    wire [ALL+W-1:0] a = {{ALL{1'b0}}, s_a};
    wire [ALL+W-1:0] b = {{ALL{1'b0}}, SUBTRACT != 0 ? ~s_b : s_b};
    wire [ALL-1:0]   sum;
    wire [PARTS:0]   carry;
    assign carry[0] = SUBTRACT != 0;

    genvar p;
    generate
        for (p = 0; p < PARTS; p = p + 1) begin : g_part
            wire [PART-1:0] part_a;
            wire [PART-1:0] part_b;
            reg  [PART:0]   sum_q;
            gc_delay_line #(.W(2*PART), .CYCLES(p), .CLEAR(0)) u_wait (
                .clk(clk), .clear(1'b0), .s_data({b[p*PART +: PART], a[p*PART +: PART]}), .m_data({part_b, part_a})
            );
            always @(posedge clk) sum_q <= {1'b0, part_a} + {1'b0, part_b} + {{PART{1'b0}}, carry[p]};
            assign carry[p+1] = sum_q[PART];
            gc_delay_line #(.W(PART), .CYCLES(PARTS - 1 - p), .CLEAR(0)) u_hold (
                .clk(clk), .clear(1'b0), .s_data(sum_q[PART-1:0]), .m_data(sum[p*PART +: PART])
            );
        end
        if (ALL > W) begin : g_filled
            wire _unused = &{1'b0, sum[ALL-1:W]};
        end
    endgenerate
    assign m_sum = sum[W-1:0];

    wire _unused = &{1'b0, a[ALL+W-1:ALL], b[ALL+W-1:ALL], carry[PARTS]};
endmodule

`default_nettype wire
