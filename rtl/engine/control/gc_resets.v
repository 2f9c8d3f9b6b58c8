// SPDX-License-Identifier: Apache-2.0
// The engine's resets. Each unit has a register of its own for its reset, so that no net of it goes across the whole
// engine. All units are reset from the cycle after s_all (everything) or s_core (everything but control) on; then each
// leaves it a cycle after the one before, for tools would make one register of equal ones. m_memory begins at once and
// lasts until the units' has begun: what a unit asks for before, nobody hears. m_busy while a unit is in reset.
//
// ```
// s_all      __##______________
// m_memory   __####____________
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
    output wire             m_memory,
    output reg  [UNITS-1:0] m_unit,
    output wire             m_busy
);
    generate
        if (UNITS < 2) begin : g_illegal_units
            gradcore_illegal_parameter_UNITS_below_2 u_stop ();
        end
    endgenerate

    reg begun_q;

    assign m_memory = s_all || s_core || begun_q;
    assign m_busy   = m_unit[UNITS-1];

    always @(posedge clk) begin
        begun_q <= s_all || s_core;
        m_unit  <= {m_unit[UNITS-2:0], 1'b0} | {UNITS{s_all || s_core}};
    end
endmodule

`default_nettype wire
