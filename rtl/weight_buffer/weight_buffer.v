`default_nettype none
module weight_buffer #(parameter COLS=16, parameter DW=16, parameter DEPTH=8192, parameter LATENCY=7) (
 input wire clk, input wire rst,
 input wire s_wr_valid, input wire [$clog2(DEPTH)-1:0] s_wr_addr, input wire [$clog2(COLS)-1:0] s_wr_rot, input wire [COLS*DW-1:0] s_wr_data,
 input wire s_rd_valid, input wire [$clog2(DEPTH)-1:0] s_rd_addr, input wire [$clog2(COLS)-1:0] s_rd_rot, input wire s_rd_ramp,
 output wire m_rd_valid, output wire [COLS*DW-1:0] m_rd_data);
 localparam AW=$clog2(DEPTH); localparam CW=$clog2(COLS);
 reg [DW-1:0] mem [0:DEPTH*COLS-1];
 reg [COLS*DW-1:0] pipe [0:LATENCY-1]; reg [LATENCY-1:0] v;
 integer j;
 reg [CW-1:0] b;
 reg [AW-1:0] a;
 always @(posedge clk) begin
  v <= {v[LATENCY-2:0], s_rd_valid}; if (rst) v<=0;
  for (j=1;j<LATENCY;j=j+1) pipe[j]<=pipe[j-1];
  for (j=0;j<COLS;j=j+1) begin
    b = j[CW-1:0]+s_rd_rot; a = s_rd_addr + (s_rd_ramp ? j[AW-1:0] : 0);
    pipe[0][j*DW +: DW] <= mem[{a,b}];
    b = j[CW-1:0]+s_wr_rot;
    if (s_wr_valid) mem[{s_wr_addr,b}] <= s_wr_data[j*DW +: DW];
  end
 end
 assign m_rd_valid=v[LATENCY-1]; assign m_rd_data=pipe[LATENCY-1];
endmodule
`default_nettype wire
