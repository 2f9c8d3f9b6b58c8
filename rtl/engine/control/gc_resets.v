// SPDX-License-Identifier: Apache-2.0
// The engine's resets. Each unit has a register of its own for its reset, so that no net of it goes across the whole
// engine. All units are reset from the cycle after s_all (everything) or s_core (everything but control) on; then each
// leaves it a cycle after the one before, for tools would make one register of equal ones. m_control and m_memory begin
// at once and last until the units' has begun: what a unit says before, nobody hears. m_busy while a unit is in reset.
//
// ```
// s_all      __##______________
// m_control  __####____________
// m_unit[0]  ____##____________
// m_unit[1]  ____####__________
// ```
`default_nettype none

module gc_resets #(
    parameter UNITS = 6    // at least 2
) (
    input  wire             clk,
    input  wire             s_all,
    input  wire             s_core,
    output wire             m_control,
    output wire             m_memory,
    output reg  [UNITS-1:0] m_unit,
    output wire             m_busy
);
    generate
        if (UNITS < 2) begin : g_illegal_units
            gradcore_illegal_parameter_UNITS_below_2 u_stop ();
        end
    endgenerate

    reg all_q, core_q;

    assign m_control = s_all || all_q;
    assign m_memory  = m_control || s_core || core_q;
    assign m_busy    = m_unit[UNITS-1];

    always @(posedge clk) begin
        all_q  <= s_all;
        core_q <= s_core;
        m_unit <= {m_unit[UNITS-2:0], 1'b0} | {UNITS{s_all || s_core}};
    end
endmodule

`default_nettype wire
