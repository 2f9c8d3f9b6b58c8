// SPDX-License-Identifier: Apache-2.0
// Head of one unit's instruction queue. Holds an instruction until the unit is free and every token that its wait
// field names is available, then takes the tokens and starts the unit with one pulse of m_start; the instruction is on
// m_instruction from then until the unit pulses s_done. It leaves the stream with m_start. Says in every cycle why the
// unit is not at work: sts_waits (one-hot: the first missing producer) or sts_idle (no instruction); otherwise it is
// busy.
`default_nettype none

module gc_instruction_gate #(
    parameter INSTR_W   = 1024,
    parameter PRODUCERS = 6
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire                 s_valid,
    output wire                 s_ready,
    input  wire [INSTR_W-1:0]   s_instruction,
    input  wire [PRODUCERS-1:0] s_available,
    output wire [PRODUCERS-1:0] m_take,
    output reg                  m_start,
    output reg  [INSTR_W-1:0]   m_instruction,
    input  wire                 s_done,
    output wire                 sts_active,   // m_instruction is being executed: from m_start to s_done
    output wire                 sts_busy,     // the same, and the cycle in which its tokens are taken
    output wire [PRODUCERS-1:0] sts_waits,
    output wire                 sts_idle
);
    generate
        if (PRODUCERS < 1) begin : g_illegal_producers
            gradcore_illegal_parameter_PRODUCERS_below_1 u_stop ();
        end
        if (INSTR_W < PRODUCERS + 4) begin : g_illegal_instr
            gradcore_illegal_parameter_INSTR_W_below_PRODUCERS_plus_4 u_stop ();
        end
    endgenerate

    reg busy_q;

    wire [PRODUCERS-1:0] wanted  = s_instruction[4 +: PRODUCERS];
    wire [PRODUCERS-1:0] missing = wanted & ~s_available;
    wire                 go      = s_valid && !busy_q && ~(|missing);

    assign s_ready   = m_start;
    assign m_take    = go ? wanted : {PRODUCERS{1'b0}};
    assign sts_active = busy_q;
    assign sts_busy  = busy_q || go;
    assign sts_waits = (s_valid && !busy_q) ? missing & (~missing + {{(PRODUCERS-1){1'b0}}, 1'b1}) : {PRODUCERS{1'b0}};
    assign sts_idle  = !busy_q && !s_valid;

    always @(posedge clk) begin
        m_start <= go;
        if (!busy_q) m_instruction <= s_instruction;
        if (go)          busy_q <= 1'b1;
        else if (s_done) busy_q <= 1'b0;
        if (rst) begin
            m_start <= 1'b0;
            busy_q  <= 1'b0;
        end
    end
endmodule

`default_nettype wire
