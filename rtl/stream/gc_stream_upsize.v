// SPDX-License-Identifier: Apache-2.0
// Packs RATIO narrow words into one wide beat, lane 0 lowest. s_last ends a frame: it sends a beat that is only partly
// filled (the lanes behind it are zero) with m_last, m_words telling how many lanes count. One word in per cycle, no
// bubble between beats; obeys doc/streams.md.
`default_nettype none

module gc_stream_upsize #(
    parameter WIDTH = 8,
    parameter RATIO = 4    // at least 1
) (
    input  wire                   clk,
    input  wire                   rst,
    input  wire                   s_valid,
    output wire                   s_ready,
    input  wire                   s_last,
    input  wire [WIDTH-1:0]       s_data,
    output reg                    m_valid,
    input  wire                   m_ready,
    output reg                    m_last,
    output reg  [$clog2(RATIO):0] m_words,
    output wire [RATIO*WIDTH-1:0] m_data
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

    reg [CW-1:0] lane_q;    // lane of the next word
    wire take = s_valid && s_ready;
    wire full = (lane_q == LAST) || s_last;

    // The beat is handed over in place, so the next word waits until it has been taken.
    assign s_ready = !m_valid || m_ready;

    genvar i;
    generate
        for (i = 0; i < RATIO; i = i + 1) begin : g_lane
            localparam [CW-1:0] LANE = i;
            reg [WIDTH-1:0] word_q;
            always @(posedge clk) begin
                if (take && lane_q == LANE) word_q <= s_data;
                if (i > 0 && take && lane_q == {CW{1'b0}}) word_q <= {WIDTH{1'b0}};  // a new beat: perhaps a short one
            end
            assign m_data[i*WIDTH +: WIDTH] = word_q;
        end
    endgenerate

    always @(posedge clk) begin
        if (take) lane_q <= full ? {CW{1'b0}} : lane_q + ONE;
        if (take) begin
            m_last  <= s_last;
            m_words <= lane_q + ONE;
        end
        if (s_ready) m_valid <= take && full;
        if (rst) begin
            lane_q  <= {CW{1'b0}};
            m_valid <= 1'b0;
        end
    end
endmodule

`default_nettype wire
