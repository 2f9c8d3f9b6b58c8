// SPDX-License-Identifier: Apache-2.0
// Avalon-MM agent for the native register port: word addresses, an access per cycle, its answer two cycles later in
// order; waitrequest is high in reset only. Byte enables go to the register port, so a write without any does nothing.
// Every access answers OKAY. At most two wait for their answers. None is given in a reset.
`default_nettype none

module gc_avalon_agent (
    input  wire        clk,
    input  wire        rst,
    input  wire [9:0]  avs_address,
    input  wire        avs_read,
    input  wire        avs_write,
    input  wire [31:0] avs_writedata,
    input  wire [3:0]  avs_byteenable,
    output wire [31:0] avs_readdata,
    output wire        avs_readdatavalid,
    output wire        avs_waitrequest,
    output wire [1:0]  avs_response,
    output wire        avs_writeresponsevalid,
    // native register port
    output wire        m_reg_write,
    output wire [11:0] m_reg_addr,
    output wire [31:0] m_reg_wdata,
    output wire [3:0]  m_reg_strb,
    output wire        m_reg_read,
    input  wire [31:0] s_reg_rdata
);
    reg        read_q;
    reg        write_q;
    reg        read_answer_q;
    reg        write_answer_q;
    reg [9:0]  address_q;
    reg [31:0] writedata_q;
    reg [3:0]  byteenable_q;

    assign avs_waitrequest = rst;
    assign avs_readdatavalid      = read_answer_q && !rst;
    assign avs_writeresponsevalid = write_answer_q && !rst;
    assign avs_readdata    = s_reg_rdata;
    assign avs_response    = 2'b00;
    assign m_reg_read      = read_q;
    assign m_reg_write     = write_q;
    assign m_reg_addr      = {address_q, 2'b00};
    assign m_reg_wdata     = writedata_q;
    assign m_reg_strb      = byteenable_q;

    // Reads and writes take the same two cycles: they share the response, and answers keep the order of the accesses.
    always @(posedge clk) begin
        read_q       <= avs_read;
        write_q      <= avs_write;
        address_q    <= avs_address;
        writedata_q  <= avs_writedata;
        byteenable_q <= avs_byteenable;
        read_answer_q  <= read_q;
        write_answer_q <= write_q;
        if (rst) begin
            read_q         <= 1'b0;
            write_q        <= 1'b0;
            read_answer_q  <= 1'b0;
            write_answer_q <= 1'b0;
        end
    end
endmodule

`default_nettype wire
