// SPDX-License-Identifier: Apache-2.0
// A queue of words: every word that goes in comes out once, unchanged and in its turn, not later than LATENCY cycles
// after it could (0: at any time; with HIDES a reset may hide it); never more than MOST are inside. The solver tracks
// any one word: `ahead` words leave before it. The outputs are for the invariants of a proof.
`default_nettype none

module gc_stream_order #(
    parameter W       = 4,
    parameter MOST    = 2,
    parameter LATENCY = 1,
    parameter HIDES   = 0
) (
    input  wire                  clk,
    input  wire                  rst,
    input  wire                  started,
    input  wire                  push,
    input  wire [W-1:0]          s_data,
    input  wire                  pop,
    input  wire                  m_valid,
    input  wire [W-1:0]          m_data,
    output reg  [$clog2(MOST):0] stored,
    output reg                   tracked,
    output reg  [$clog2(MOST):0] ahead,
    output reg  [W-1:0]          word
);
    (* anyseq *) wire pick;
    reg [3:0] waited_q;      // cycles in which a word was inside and none was shown

    always @(posedge clk) begin
        stored   <= stored + push - pop;
        waited_q <= stored != 0 && !m_valid ? waited_q + 4'd1 : 4'd0;
        if (tracked && pop) begin
            ahead   <= ahead - 1'b1;
            tracked <= ahead != 0;
        end else if (!tracked && push && pick) begin
            ahead   <= stored - pop;
            tracked <= 1'b1;
            word    <= s_data;
        end
        if (rst) begin
            stored   <= 0;
            tracked  <= 1'b0;
            waited_q <= 4'd0;
        end
    end

    always @* if (started) begin
        assert (stored <= MOST);
        assert (stored != 0 || !m_valid);
        assert ((rst && HIDES != 0) || stored == 0 || m_valid || LATENCY == 0 || waited_q < LATENCY - 1);
        if (tracked) assert (ahead < stored);
        if (tracked && ahead == 0 && m_valid) assert (m_data == word);
    end
endmodule

`default_nettype wire
