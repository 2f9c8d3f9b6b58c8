// SPDX-License-Identifier: Apache-2.0
// Dependency tokens: one counter for each pair of producer and consumer (doc/instructions.md, "Tokens"). A producer's
// signal pulse adds one, a consumer's take pulse removes one; both may come in the same cycle. A counter is shown as
// available in the cycle after its signal. An addition to a full counter is lost and sets the sticky sts_overflow; a
// take from an empty one is not allowed.
`default_nettype none

module gc_token_matrix #(
    parameter PRODUCERS = 6,
    parameter CONSUMERS = 5,
    parameter W         = 12   // bits of a counter
) (
    input  wire                           clk,
    input  wire                           rst,
    input  wire [PRODUCERS*CONSUMERS-1:0] s_signal,    // producer p, consumer c at [p*CONSUMERS + c]
    input  wire [CONSUMERS*PRODUCERS-1:0] s_take,      // consumer c, producer p at [c*PRODUCERS + p]
    output wire [CONSUMERS*PRODUCERS-1:0] m_available, // the same order as s_take
    output wire                           sts_overflow
);
    generate
        if (PRODUCERS < 1 || CONSUMERS < 1) begin : g_illegal_sides
            gradcore_illegal_parameter_PRODUCERS_or_CONSUMERS_below_1 u_stop ();
        end
        if (W < 1) begin : g_illegal_w
            gradcore_illegal_parameter_W_below_1 u_stop ();
        end
    endgenerate

    localparam [W-1:0] ONE = 1;

    wire [PRODUCERS*CONSUMERS-1:0] overflow;

    genvar p, c;
    generate
        for (p = 0; p < PRODUCERS; p = p + 1) begin : g_producer
            for (c = 0; c < CONSUMERS; c = c + 1) begin : g_consumer
                reg [W-1:0] count_q;
                reg         some_q;     // it is not zero
                wire add  = s_signal[p*CONSUMERS + c];
                wire take = s_take[c*PRODUCERS + p];
                wire up   = add && !take && ~(&count_q);
                wire down = take && !add;

                assign m_available[c*PRODUCERS + p] = some_q;
                assign overflow[p*CONSUMERS + c]    = add && !take && (&count_q);

                always @(posedge clk) begin
                    if (up || down) count_q <= count_q + {{(W-1){down}}, 1'b1};
                    if (add != take) some_q <= add || count_q != ONE;
                    if (rst) begin
                        count_q <= {W{1'b0}};
                        some_q  <= 1'b0;
                    end
                end
            end
        end
    endgenerate

    reg [PRODUCERS-1:0] overflow_q;
    assign sts_overflow = |overflow_q;

    generate
        for (p = 0; p < PRODUCERS; p = p + 1) begin : g_overflow
            always @(posedge clk) begin
                if (|overflow[p*CONSUMERS +: CONSUMERS]) overflow_q[p] <= 1'b1;
                if (rst) overflow_q[p] <= 1'b0;
            end
        end
    endgenerate
endmodule

`default_nettype wire
