// SPDX-License-Identifier: Apache-2.0
// AXI4-Lite master that plays a list of commands from a ROM: write a register, wait for the interrupt, read a register
// and compare. One command after the other, each begins when the one before has been answered. Stops with `done` at
// the end of the list, with `failed` at a value that differs or an error response; `at` is then the number of that
// command. A command is 48 bits: [47:44] what, [43:32] register, [31:0] value.
`default_nettype none

module gc_command_player #(
    parameter FILE  = "commands.hex",
    parameter DEPTH = 256             // a power of two
) (
    input  wire        clk,
    input  wire        rst,
    input  wire        irq,
    output reg  [11:0] m_axil_awaddr,
    output wire [2:0]  m_axil_awprot,
    output reg         m_axil_awvalid,
    input  wire        m_axil_awready,
    output reg  [31:0] m_axil_wdata,
    output wire [3:0]  m_axil_wstrb,
    output reg         m_axil_wvalid,
    input  wire        m_axil_wready,
    input  wire [1:0]  m_axil_bresp,
    input  wire        m_axil_bvalid,
    output wire        m_axil_bready,
    output wire [11:0] m_axil_araddr,
    output wire [2:0]  m_axil_arprot,
    output reg         m_axil_arvalid,
    input  wire        m_axil_arready,
    input  wire [31:0] m_axil_rdata,
    input  wire [1:0]  m_axil_rresp,
    input  wire        m_axil_rvalid,
    output wire        m_axil_rready,
    output reg  [15:0] at,
    output wire        done,
    output wire        failed
);
    localparam AT_W = $clog2(DEPTH);
    localparam [3:0] WRITE = 4'd1, WAIT = 4'd2, CHECK = 4'd3;
    localparam [2:0] FETCH = 3'd0, START = 3'd1, ANSWER = 3'd2, DONE = 3'd3, FAILED = 3'd4;

    reg [47:0] rom [0:DEPTH-1];
    reg [47:0] word_q;
    reg [2:0]  state_q;
    initial $readmemh(FILE, rom);

    wire [3:0] what     = word_q[47:44];
    wire       answered = m_axil_bvalid || m_axil_rvalid;
    wire       wrong    = m_axil_bvalid ? m_axil_bresp != 2'b00 : m_axil_rresp != 2'b00 || m_axil_rdata != m_axil_wdata;

    assign m_axil_awprot = 3'b000;
    assign m_axil_arprot = 3'b000;
    assign m_axil_wstrb  = 4'b1111;
    assign m_axil_araddr = m_axil_awaddr;
    assign m_axil_bready = 1'b1;
    assign m_axil_rready = 1'b1;
    assign done          = state_q == DONE;
    assign failed        = state_q == FAILED;

    always @(posedge clk) begin
        word_q <= rom[at[AT_W-1:0]];
        if (m_axil_awready) m_axil_awvalid <= 1'b0;
        if (m_axil_wready)  m_axil_wvalid  <= 1'b0;
        if (m_axil_arready) m_axil_arvalid <= 1'b0;
        case (state_q)
            FETCH: state_q <= START;
            START:
                if (what == WRITE || what == CHECK) begin
                    m_axil_awaddr  <= word_q[43:32];
                    m_axil_wdata   <= word_q[31:0];
                    m_axil_awvalid <= what == WRITE;
                    m_axil_wvalid  <= what == WRITE;
                    m_axil_arvalid <= what == CHECK;
                    state_q        <= ANSWER;
                end else if (what != WAIT) state_q <= DONE;
                else if (irq) begin
                    at      <= at + 16'd1;
                    state_q <= FETCH;
                end
            ANSWER:
                if (answered && wrong) state_q <= FAILED;
                else if (answered) begin
                    at      <= at + 16'd1;
                    state_q <= FETCH;
                end
            default: ;
        endcase
        if (rst) begin
            at             <= 16'd0;
            state_q        <= FETCH;
            m_axil_awvalid <= 1'b0;
            m_axil_wvalid  <= 1'b0;
            m_axil_arvalid <= 1'b0;
        end
    end
endmodule

`default_nettype wire
