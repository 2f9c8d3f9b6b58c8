`default_nettype none
module gradient_buffer #(parameter GRID=8, parameter COLS=16, parameter ACC_W=48, parameter DEPTH=8192) (
 input wire clk, input wire rst, input wire s_clear,
 input wire s_valid, input wire [$clog2(DEPTH)-1:0] s_addr, input wire s_first, input wire [GRID*GRID*ACC_W-1:0] s_acc,
 input wire s_rd_valid, output wire s_rd_ready, input wire [$clog2(DEPTH)-1:0] s_rd_addr,
 output reg m_rd_valid, output reg [COLS*ACC_W-1:0] m_rd_data, output wire sts_idle, output wire sts_overflow);
 localparam G=GRID*GRID/COLS;
 reg signed [ACC_W-1:0] mem [0:DEPTH*COLS-1];
 reg signed [ACC_W-1:0] t;
 integer j,g;
 assign s_rd_ready=1'b1; assign sts_idle=1'b1; assign sts_overflow=1'b0;
 always @(posedge clk) begin
   m_rd_valid <= s_rd_valid; if (rst) m_rd_valid<=0;
   for (j=0;j<COLS;j=j+1) begin
     m_rd_data[j*ACC_W +: ACC_W] <= mem[s_rd_addr*COLS+j];
     if (s_valid) begin
       t = s_first ? 0 : mem[s_addr*COLS+j];
       for (g=0;g<G;g=g+1) t = t + s_acc[(g*COLS+j)*ACC_W +: ACC_W];
       mem[s_addr*COLS+j] <= t;
     end
   end
 end
 wire _unused = s_clear;
endmodule
`default_nettype wire
