// SPDX-License-Identifier: Apache-2.0
// LOSS: what COMPUTE and what LOAD with softmax have summed, whole 4 cycles after both have come to rest. Limbs of 16
// bits keep the carries short. Free running.
`default_nettype none

module gc_loss_total (
    input  wire        clk,
    input  wire [63:0] s_compute,
    input  wire [63:0] s_load,
    output wire [63:0] m_loss
);
    // A limb takes the carry that the one below it had a cycle before.
    reg [16:0] limb0_q, limb1_q, limb2_q;
    reg [15:0] limb3_q;

    always @(posedge clk) begin
        limb0_q <= {1'b0, s_compute[15:0]} + {1'b0, s_load[15:0]};
        limb1_q <= {1'b0, s_compute[31:16]} + {1'b0, s_load[31:16]} + {16'd0, limb0_q[16]};
        limb2_q <= {1'b0, s_compute[47:32]} + {1'b0, s_load[47:32]} + {16'd0, limb1_q[16]};
        limb3_q <= s_compute[63:48] + s_load[63:48] + {15'd0, limb2_q[16]};
    end
    assign m_loss = {limb3_q, limb2_q[15:0], limb1_q[15:0], limb0_q[15:0]};
endmodule

`default_nettype wire
