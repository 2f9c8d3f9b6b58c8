// SPDX-License-Identifier: Apache-2.0
// One lane: the local gradient of an exponential: p = e / sum by the reciprocal of the sum, less the target bit,
// rounded half-up and saturated. One number per cycle, free running, 12 cycles; s_bit and s_keep come 7 cycles after
// s_e. Bit-exact with gradcore.ops.softmax.probabilities and gradcore.ops.loss.loss_delta. s_loss_shift is stable.
`default_nettype none

module gc_softmax_probability #(
    parameter DW = 16  // bits of the gradient, 8..16
) (
    input  wire          clk,
    input  wire [4:0]    s_loss_shift,
    input  wire [24:0]   s_e,           // fraction 24
    input  wire [25:0]   s_reciprocal,  // 2^(24 + length) / sum
    input  wire [3:0]    s_length,      // of the sum in bits, less 25
    input  wire          s_bit,
    input  wire          s_keep,        // 0: the gradient is zero
    output wire [DW-1:0] m_delta,       // signed
    output wire          m_over         // m_delta is saturated
);
    localparam [1:0] HALF_UP = 2'd1;

    // The product in two halves, joined in two additions. Its lowest 25 bits are dropped whatever the length is.
    reg  [37:0] high_q, high2_q, low_q, low2_q;
    reg  [19:0] sum_q;
    reg  [18:0] top_q;
    reg  [5:0]  carried_q;
    reg  [24:0] quotient_q, coarse_q, fine_q;
    reg  [15:0] p_q;
    reg  [16:0] d_q;
    wire [18:0] top = top_q + {13'd0, carried_q} + {18'd0, sum_q[19]};
    wire [3:0]  length;

    gc_delay_line #(.W(4), .CYCLES(4), .CLEAR(0)) u_length (
        .clk(clk), .clear(1'b0), .s_data(s_length), .m_data(length)
    );
    reg  [2:0]  length_q;

    always @(posedge clk) begin
        high_q     <= s_e * s_reciprocal[25:13];
        low_q      <= s_e * s_reciprocal[12:0];
        high2_q    <= high_q;
        low2_q     <= low_q;
        sum_q      <= {1'b0, high2_q[18:0]} + {1'b0, low2_q[31:13]};
        top_q      <= high2_q[37:19];
        carried_q  <= low2_q[37:32];
        quotient_q <= {top[17:0], sum_q[18:12]};
        coarse_q   <= quotient_q >> {length[3], 3'd0};
        length_q   <= length[2:0];
        fine_q     <= coarse_q >> length_q;
        p_q        <= fine_q[24:9] + {15'd0, fine_q[8]};
        // p is at most 1.0 = 2^15
        d_q        <= {s_bit & ~p_q[15], p_q[15] ^ s_bit, p_q[14:0]} & {17{s_keep}};
    end

    gc_round_shift_step #(.IN_W(33), .OUT_W(DW), .SHIFT_W(5), .ROUND_W(1)) u_round (
        .clk(clk), .s_step(4'b1111), .s_x({d_q, 16'd0}), .s_base({DW{1'b0}}), .s_shift(s_loss_shift), .s_mode(HALF_UP),
        .s_rnd(16'd0), .m_y(m_delta), .m_over(m_over)
    );

    wire _unused = &{1'b0, low2_q[12:0], top[18], sum_q[11:0], fine_q[7:0]};
endmodule

`default_nettype wire
