// SPDX-License-Identifier: Apache-2.0
// Picks one of N words, or the word s_sum, through a tree of registered 4:1 multiplexers; the last of them, behind
// others, only joins words of which all but one are zero.
// One pick per cycle, free running. A word of s_data is taken in the cycle of its s_index and leaves
// ceil(log4(N)) cycles later, one register per level; s_sum is taken by the last level, one cycle before it leaves.
`default_nettype none

module gc_column_select #(
    parameter N = 16,  // words, a power of two, 4..64
    parameter W = 48
) (
    input  wire                   clk,
    input  wire [$clog2(N+1)-1:0] s_index,  // 0..N-1, N for s_sum
    input  wire [N*W-1:0]         s_data,
    input  wire [W-1:0]           s_sum,
    output reg  [W-1:0]           m_data
);
    localparam N1 = (N > 4) ? N/4 : N;
    localparam N2 = (N1 > 4) ? N1/4 : N1;
    localparam I0 = $clog2(N+1);
    localparam I1 = $clog2(N1+1);
    localparam I2 = $clog2(N2+1);

    wire [I1-1:0]   index1;
    wire [I2-1:0]   index2;
    wire [N1*W-1:0] data1;
    wire [N2*W-1:0] data2;

    gc_select_level #(
        .N      (N),
        .M      (N1),
        .INDEX_W(I0),
        .REST_W (I1),
        .LAST   (N1 <= 4),
        .W      (W)
    ) u_level0 (
        .clk    (clk),
        .s_index(s_index),
        .s_data (s_data),
        .m_index(index1),
        .m_data (data1)
    );

    gc_select_level #(
        .N      (N1),
        .M      (N2),
        .INDEX_W(I1),
        .REST_W (I2),
        .LAST   (1),
        .W      (W)
    ) u_level1 (
        .clk    (clk),
        .s_index(index1),
        .s_data (data1),
        .m_index(index2),
        .m_data (data2)
    );

    // Four words are left, or two, which then are repeated. Behind a level all are zero but one, or all for s_sum.
    wire [4*W-1:0] way  = {(4/N2){data2}};
    wire [1:0]     pick = {index2[I2-2], index2[0]};
    wire           sum  = index2[I2-1];

    generate
        if (N > 4) begin : g_join
            wire [W-1:0] word = way[0*W +: W] | way[1*W +: W] | way[2*W +: W] | way[3*W +: W];
            always @(posedge clk) m_data <= word | (s_sum & {W{sum}});
            wire _unused = &{1'b0, pick};
        end else begin : g_pick
            always @(posedge clk)
                if (sum)
                    m_data <= s_sum;
                else
                    case (pick)
                        2'd0:    m_data <= way[0*W +: W];
                        2'd1:    m_data <= way[1*W +: W];
                        2'd2:    m_data <= way[2*W +: W];
                        default: m_data <= way[3*W +: W];
                    endcase
        end
    endgenerate
endmodule

`default_nettype wire
