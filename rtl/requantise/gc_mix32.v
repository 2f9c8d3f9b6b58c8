// SPDX-License-Identifier: Apache-2.0
// The integer hash mix32 of the random numbers: three adders with an exclusive-or between them, no multiplier.
// One result per cycle, 3 cycles latency, free running; stage i only moves when s_step[i] is high, so the owner of
// the pipeline's valid bits decides how much toggles. Bit-exact with gradcore.numerics.random_numbers.mix32.
`default_nettype none

module gc_mix32 #(
    parameter OUT_W = 32    // bits of m_y, the lowest of the hash, 16..32
) (
    input  wire             clk,
    input  wire [2:0]       s_step,  // bit i: stage i holds a new word
    input  wire [31:0]      s_x,
    output reg  [OUT_W-1:0] m_y
);
    generate
        if (OUT_W < 16 || OUT_W > 32) begin : g_illegal_out_w
            gradcore_illegal_parameter_OUT_W_not_16_to_32 u_stop ();
        end
    endgenerate

    reg [31:0] a_q;
    reg [31:0] b_q;

    wire [31:0] a_mixed = a_q ^ {6'b0, a_q[31:6]};
    wire [31:0] b_mixed = b_q ^ {11'b0, b_q[31:11]};
    wire [31:0] sum     = b_mixed + {b_mixed[16:0], 15'b0};

    always @(posedge clk) if (s_step[0]) a_q <= s_x + {s_x[21:0], 10'b0};
    always @(posedge clk) if (s_step[1]) b_q <= a_mixed + {a_mixed[28:0], 3'b0};
    always @(posedge clk) if (s_step[2]) m_y <= sum[OUT_W-1:0];

    wire _unused = &{1'b0, sum};
endmodule

`default_nettype wire
