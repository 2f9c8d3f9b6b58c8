// SPDX-License-Identifier: Apache-2.0
// Joins what the drain's stages say about saturated lanes: one pulse per word, 11 cycles after s_over, for a word with
// a factor 7 cycles later, when its product has been rounded. Words with a factor are followed by 7 free cycles before
// one without, so no two words tell in the same cycle. Free running; every input has the cycle of its stage.
`default_nettype none

module gc_saturations #(
    parameter LANES = 64   // a multiple of 8
) (
    input  wire             clk,
    input  wire             rst,
    input  wire [LANES-1:0] s_over,            // of the rounded sums, lanes that count
    input  wire             s_gradient,        // they are local gradients, not activations
    input  wire             s_loss_valid,      // 5 cycles later: the word is one
    input  wire [LANES-1:0] s_loss_over,       // with s_loss_valid: of the loss
    input  wire             s_factor,          // 4 cycles after s_loss_valid: the word has a factor
    input  wire             s_product_valid,   // 7 cycles later: of the factor
    input  wire             s_product_gradient,
    input  wire [LANES-1:0] s_product_over,
    output reg  [1:0]       sts_saturated      // pulses: an activation, a local gradient
);
    localparam LOSS   = 5;             // latency of gc_loss
    localparam PLACE  = 3;             // from the loss's to the factor's cycle, less one
    localparam FACTOR = 7;             // latency of gc_factor
    localparam GROUPS = LANES / 8;     // or-ed in two cycles

    reg  [GROUPS-1:0] over_q, loss_over_q, product_q;
    reg  [1:0]        kind_q;          // of over_q: a gradient's, an activation's
    reg               loss_valid_q;
    reg  [1:0]        rounded_q;
    reg               factor_q;
    reg  [2:0]        late_q;          // a word with a factor, its kind
    wire [1:0]        first, rounded, early;

    genvar l;
    generate
        for (l = 0; l < GROUPS; l = l + 1) begin : g_group
            always @(posedge clk) begin
                over_q[l]      <= |s_over[l*8 +: 8];
                loss_over_q[l] <= |s_loss_over[l*8 +: 8];
                product_q[l]   <= |s_product_over[l*8 +: 8];
            end
        end
    endgenerate

    gc_delay_line #(.W(2), .CYCLES(LOSS), .CLEAR(0)) u_first (
        .clk(clk), .clear(1'b0), .s_data(kind_q & {2{|over_q}}), .m_data(first)
    );
    gc_delay_line #(.W(2), .CYCLES(PLACE)) u_rounded (
        .clk(clk), .clear(rst), .s_data(rounded_q), .m_data(rounded)
    );
    gc_delay_line #(.W(2), .CYCLES(FACTOR)) u_early (
        .clk(clk), .clear(rst), .s_data(rounded & {2{factor_q}}), .m_data(early)
    );

    always @(posedge clk) begin
        kind_q        <= {s_gradient, ~s_gradient};
        loss_valid_q  <= s_loss_valid;
        rounded_q     <= {first[1] | (|loss_over_q), first[0]} & {2{loss_valid_q}};
        factor_q      <= s_factor;
        late_q        <= {s_product_valid, s_product_gradient, ~s_product_gradient};
        sts_saturated <= (rounded & {2{~factor_q}}) | early | (late_q[1:0] & {2{late_q[2] & (|product_q)}});
        if (rst) begin
            loss_valid_q  <= 1'b0;
            rounded_q     <= 2'b00;
            late_q        <= 3'b000;
            sts_saturated <= 2'b00;
        end
    end
endmodule

`default_nettype wire
