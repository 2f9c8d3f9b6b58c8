// SPDX-License-Identifier: Apache-2.0
// One level of an adder tree: adds N signed numbers in pairs, exactly; a single number only waits. One cycle latency;
// with `enable` low the sums stay. A number is {high, carry, low}. It is worth low + 2^W * (high + carry): `low` has no
// sign, `high` has one. So a carry chain ends with the W bits of `low`; its carry is added in the next level.
`default_nettype none

module gc_pair_sum #(
    parameter N = 4,   // numbers, a power of two
    parameter M = 2,   // sums: N > 1 ? N/2 : 1
    parameter W = 48,
    parameter H = 4    // bits of `high`, enough for every sum
) (
    input  wire                 clk,
    input  wire                 enable,
    input  wire [N*(H+1+W)-1:0] s_data,
    output wire [M*(H+1+W)-1:0] m_sum
);
    localparam ALL = H + 1 + W;

    genvar i;
    generate
        for (i = 0; i < M; i = i + 1) begin : g_sum
            wire [ALL-1:0] a = s_data[i*ALL +: ALL];
            wire [ALL-1:0] b;
            reg  [W-1:0]   low_q;
            reg            carry_q;
            reg  [H-1:0]   high_q;

            if (N > 1) begin : g_pair
                assign b = s_data[(M+i)*ALL +: ALL];
            end else begin : g_single
                assign b = {ALL{1'b0}};
            end

            always @(posedge clk) if (enable) begin
                {carry_q, low_q} <= {1'b0, a[W-1:0]} + {1'b0, b[W-1:0]};
                high_q <= a[ALL-1 -: H] + b[ALL-1 -: H] + {{(H-1){1'b0}}, a[W]} + {{(H-1){1'b0}}, b[W]};
            end
            assign m_sum[i*ALL +: ALL] = {high_q, carry_q, low_q};
        end
    endgenerate
endmodule

`default_nettype wire
