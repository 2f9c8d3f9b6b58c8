// SPDX-License-Identifier: Apache-2.0
// The engine's resets. Control (fetch, queues, tokens) and each unit have a register of their own for their reset, so
// that no net of it goes across the whole engine. All are reset from the cycle after s_all (everything) or s_core
// (everything but registers and state of the program) on; then each leaves it a cycle after the one before, for tools
// would make one register of equal ones. m_memory begins at once and lasts until the others have begun: what anybody
// asks for before, nobody hears. m_busy while a unit is in reset.
//
// ```
// s_all      __##______________
// m_memory   __####____________
// m_control  ____##____________
// m_unit[0]  ____####__________
// m_unit[1]  ____######________
// ```
`default_nettype none

module gc_resets #(
    parameter UNITS = 6    // at least 2
) (
    input  wire             clk,
    input  wire             s_all,
    input  wire             s_core,
    output wire             m_memory,
    output reg              m_control,
    output reg  [UNITS-1:0] m_unit,
    output wire             m_busy
);
    generate
        if (UNITS < 2) begin : g_illegal_units
            gradcore_illegal_parameter_UNITS_below_2 u_stop ();
        end
    endgenerate

    assign m_memory = s_all || s_core || m_control;
    assign m_busy   = m_unit[UNITS-1];

    always @(posedge clk) begin
        m_control <= s_all || s_core;
        m_unit    <= {m_unit[UNITS-2:0], m_control} | {UNITS{s_all || s_core}};
    end
endmodule

`default_nettype wire
