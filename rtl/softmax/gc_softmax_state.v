// SPDX-License-Identifier: Apache-2.0
// One lane: what becomes of its maximum and its sum. Free running. Of the words in a cycle, s_z is to be read with the
// s_max that comes a cycle later: m_max is there 2 cycles after s_z, m_u 6, m_e 12. s_sum comes with m_e and m_sum,
// the sum with e, 2 cycles later. With s_max_first (with s_max) or s_sum_first (with s_sum) there is no word before.
`default_nettype none

module gc_softmax_state #(
    parameter DW = 16  // bits of z, 8..16
) (
    input  wire          clk,
    input  wire          s_max_first,
    input  wire [DW-1:0] s_z,          // signed
    input  wire [DW-1:0] s_max,        // signed
    output reg  [DW-1:0] m_max,        // signed
    input  wire [5:0]    s_u_shift,
    output wire [40:0]   m_u,
    input  wire          s_sum_first,
    input  wire [39:0]   s_sum,
    output wire [39:0]   m_sum,
    output wire [24:0]   m_e
);
    reg [DW-1:0] z_q;
    wire larger = $signed(z_q) > $signed(s_max);

    always @(posedge clk) begin
        z_q   <= s_z;
        m_max <= s_max_first || larger ? z_q : s_max;
    end

    gc_softmax_exponential #(.DW(DW)) u_exponential (
        .clk(clk), .s_shift(s_u_shift), .s_z(z_q), .s_max(s_max), .m_u(m_u), .m_e(m_e)
    );

    // The sum in two halves, a cycle each.
    reg  [20:0] low_q;
    reg  [19:0] low2_q, high_q, high2_q;
    reg  [4:0]  e_high_q;
    wire [39:0] old = s_sum & {40{!s_sum_first}};

    always @(posedge clk) begin
        low_q    <= {1'b0, old[19:0]} + {1'b0, m_e[19:0]};
        high_q   <= old[39:20];
        e_high_q <= m_e[24:20];
        low2_q   <= low_q[19:0];
        high2_q  <= high_q + {15'd0, e_high_q} + {19'd0, low_q[20]};
    end
    assign m_sum = {high2_q, low2_q};
endmodule

`default_nettype wire
