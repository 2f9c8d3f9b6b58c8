// SPDX-License-Identifier: Apache-2.0
// Part of gc_word_rotate: rotates by s_digit times STEP bits. With two bits of s_digit each bit is a multiplexer of
// four, which fills a LUT of six inputs. In a module of its own a tool that keeps the hierarchy sees that.
`default_nettype none

module gc_rotate_digit #(
    parameter BITS    = 256,   // of the data
    parameter STEP    = 16,
    parameter DIGIT_W = 2      // 1 or 2
) (
    input  wire [DIGIT_W-1:0] s_digit,
    input  wire [BITS-1:0]    s_data,
    output wire [BITS-1:0]    m_data
);
    wire [2*BITS-1:0] twice = {s_data, s_data};

    generate
        if (DIGIT_W != 1 && DIGIT_W != 2) begin : g_illegal_digit_w
            gradcore_illegal_parameter_DIGIT_W_not_1_or_2 u_stop ();
        end
        if (DIGIT_W == 1) begin : g_two
            assign m_data = s_digit[0] ? twice[STEP +: BITS] : s_data;
        end else begin : g_four
            assign m_data = s_digit[1] ? (s_digit[0] ? twice[3*STEP +: BITS] : twice[2*STEP +: BITS])
                                       : (s_digit[0] ? twice[STEP +: BITS] : s_data);
        end
    endgenerate

    wire _unused = &{1'b0, twice};
endmodule

`default_nettype wire
