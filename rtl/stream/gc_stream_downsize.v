// SPDX-License-Identifier: Apache-2.0
// Takes a wide beat apart into RATIO narrow words, lane 0 first. m_flush, sampled with the word that is taken, ends
// the frame inside the beat: the lanes behind it are dropped and the next word comes from the next beat. One word per
// cycle without bubbles; obeys doc/streams.md.
`default_nettype none

module gc_stream_downsize #(
    parameter WIDTH = 8,
    parameter RATIO = 4    // at least 1
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire                   s_valid,
    output wire                   s_ready,
    input  wire [RATIO*WIDTH-1:0] s_data,
    output reg                    m_valid,
    input  wire                   m_ready,
    input  wire                   m_flush,
    output wire [WIDTH-1:0]       m_data
);
    localparam CW = $clog2(RATIO) + 1;
    localparam LAST_LANE = RATIO - 1;
    localparam [CW-1:0] LAST = LAST_LANE[CW-1:0];
    localparam [CW-1:0] ONE  = 1;

    generate
        if (RATIO < 1) begin : g_illegal_ratio
            gradcore_illegal_parameter_RATIO_below_1 u_stop ();
        end
    endgenerate

    reg [CW-1:0]          lane_q;
    reg                   last_q;    // it is the last one
    reg [RATIO*WIDTH-1:0] beat_q;
    wire take = m_valid && m_ready;
    wire end_of_beat = last_q || m_flush;
    wire [(RATIO+1)*WIDTH-1:0] words = {{WIDTH{1'b0}}, beat_q};   // there is a next word, with RATIO 1, too

    assign s_ready = !m_valid || (m_ready && end_of_beat);
    assign m_data  = words[WIDTH-1:0];

    always @(posedge clk) begin
        if (s_ready) begin
            m_valid <= s_valid;
            lane_q  <= {CW{1'b0}};
            last_q  <= RATIO == 1;
            beat_q  <= s_data;
        end else if (take) begin
            lane_q <= lane_q + ONE;
            last_q <= lane_q + ONE == LAST;
            beat_q <= words[WIDTH +: RATIO*WIDTH];
        end
        if (rst) m_valid <= 1'b0;
    end
endmodule

`default_nettype wire
