// SPDX-License-Identifier: Apache-2.0
// One lane: 2^-u of u = (max - z) * log2(e). One number per cycle, free running: s_z with the lane's maximum s_max
// gives u, of 16 fraction bits, 5 cycles later and e, of 24 fraction bits, 11 cycles later. Bit-exact with
// gradcore.ops.softmax.exponents and exponentials. s_shift is stable: the fraction of z, and 8. s_max is at least s_z.
`default_nettype none

module gc_softmax_exponential #(
    parameter DW = 16  // bits of z, 8..16
) (
    input  wire          clk,
    input  wire [5:0]    s_shift,
    input  wire [DW-1:0] s_z,     // signed
    input  wire [DW-1:0] s_max,   // signed
    output wire [40:0]   m_u,
    output wire [24:0]   m_e
);
    localparam [14:0] LOG2_E = 15'd23637;  // fraction 14

    // Products of at most 31 bits: ten more below make the shift, by fraction - 2, one to the right alone.
    reg  [DW-1:0]  below_q;
    reg  [DW+14:0] product_q;
    reg  [DW+14:0] scaled_q;
    reg  [40:0]    coarse_q;
    reg  [40:0]    u_q;
    wire [40:0]    wide = {{(16-DW){1'b0}}, scaled_q, 10'd0};

    always @(posedge clk) begin
        below_q   <= s_max - s_z;
        product_q <= below_q * LOG2_E;
        scaled_q  <= product_q;
        coarse_q  <= wide >> {s_shift[5:3], 3'd0};
        u_q       <= coarse_q >> s_shift[2:0];
    end
    assign m_u = u_q;

    // 2^-fraction as a product of two tables, then shifted by the integer part; beyond 31 nothing is left.
    wire [17:0] upper, lower;
    gc_softmax_powers u_powers (
        .clk(clk), .s_coarse(u_q[15:8]), .s_fine(u_q[7:0]), .m_coarse(upper), .m_fine(lower)
    );
    reg [17:0] upper_q, lower_q;
    reg [34:0] mantissa_q;
    reg [34:0] power_q;
    reg [24:0] near_q;
    reg [24:0] e_q;
    reg [5:0]  whole1_q, whole2_q, whole3_q, whole4_q;  // integer part of u; bit 5: it is above 31
    reg [2:0]  rest_q;

    always @(posedge clk) begin
        whole1_q   <= {|u_q[40:21], u_q[20:16]};
        whole2_q   <= whole1_q;
        upper_q    <= upper;
        lower_q    <= lower;
        whole3_q   <= whole2_q;
        mantissa_q <= upper_q * lower_q;
        whole4_q   <= whole3_q;
        power_q    <= mantissa_q;
        near_q     <= power_q[34:10] >> {whole4_q[4:3], 3'd0} & {25{!whole4_q[5]}};
        rest_q     <= whole4_q[2:0];
        e_q        <= near_q >> rest_q;
    end
    assign m_e = e_q;

    wire _unused = &{1'b0, power_q[9:0]};
endmodule

`default_nettype wire
