// SPDX-License-Identifier: Apache-2.0
// The engine's way to its memory: gc_mem_arbiter and, behind it, gc_memory_guard. Clients on one side, the native
// memory port on the other (doc/streams.md); DMA windows come in, faults go out, each as one bus. rst ends everything;
// answers to what was asked before reach nobody.
`default_nettype none

module gc_memory_port #(
    parameter READERS = 5,     // at least WRITERS
    parameter WRITERS = 3,
    parameter ADDR_W  = 48,
    parameter MEM_W   = 512,
    parameter WINDOWS = 4
) (
    input  wire                              clk,
    input  wire                              rst,
    input  wire [WINDOWS*(2*ADDR_W-22)-1:0]  cfg_windows,   // {write rights, read rights, ends, bases}
    input  wire                              s_abort,
    output wire                              sts_quiet,
    output wire [4:0]                        m_moves,  // {response, write request, read request, write beat, read beat}
    output wire [ADDR_W+READERS+9:0]         m_fault,       // {address, client, client writes, code, valid}
    input  wire [READERS-1:0]                s_rreq_valid,
    output wire [READERS-1:0]                s_rreq_ready,
    input  wire [READERS*ADDR_W-1:0]         s_rreq_addr,
    input  wire [READERS*8-1:0]              s_rreq_len,
    output wire [READERS-1:0]                m_rdat_valid,
    output wire [MEM_W-1:0]                  m_rdat_data,
    output wire                              m_rdat_last,
    input  wire [WRITERS-1:0]                s_wreq_valid,
    output wire [WRITERS-1:0]                s_wreq_ready,
    input  wire [WRITERS*ADDR_W-1:0]         s_wreq_addr,
    input  wire [WRITERS*8-1:0]              s_wreq_len,
    input  wire [WRITERS-1:0]                s_wdat_valid,
    output wire [WRITERS-1:0]                s_wdat_ready,
    input  wire [WRITERS*MEM_W-1:0]          s_wdat_data,
    input  wire [WRITERS*MEM_W/8-1:0]        s_wdat_strb,
    input  wire [WRITERS-1:0]                s_wdat_last,
    output wire [WRITERS-1:0]                m_wrsp_valid,
    // memory
    output wire                              m_rreq_valid,
    input  wire                              m_rreq_ready,
    output wire [ADDR_W-1:0]                 m_rreq_addr,
    output wire [7:0]                        m_rreq_len,
    input  wire                              s_rdat_valid,
    input  wire [MEM_W-1:0]                  s_rdat_data,
    input  wire                              s_rdat_last,
    input  wire [1:0]                        s_rdat_resp,
    output wire                              m_wreq_valid,
    input  wire                              m_wreq_ready,
    output wire [ADDR_W-1:0]                 m_wreq_addr,
    output wire [7:0]                        m_wreq_len,
    output wire                              m_wdat_valid,
    input  wire                              m_wdat_ready,
    output wire [MEM_W-1:0]                  m_wdat_data,
    output wire [MEM_W/8-1:0]                m_wdat_strb,
    output wire                              m_wdat_last,
    input  wire                              s_wrsp_valid,
    input  wire [1:0]                        s_wrsp_resp
);
    localparam PAGES = WINDOWS*(ADDR_W-12);

    generate
        if (READERS < WRITERS) begin : g_illegal_clients
            gradcore_illegal_parameter_READERS_below_WRITERS u_stop ();
        end
    endgenerate

    wire               rreq_valid;
    wire               rreq_ready;
    wire [ADDR_W-1:0]  rreq_addr;
    wire [7:0]         rreq_len;
    wire [READERS-1:0] rreq_client;
    wire               wreq_valid;
    wire               wreq_ready;
    wire [ADDR_W-1:0]  wreq_addr;
    wire [7:0]         wreq_len;
    wire [WRITERS-1:0] wreq_client;
    wire               wdat_valid;
    wire               wdat_ready;
    wire               rdat_valid;
    wire               wrsp_valid;
    wire [READERS+WRITERS-1:0] writer = {{READERS{1'b0}}, wreq_client};

    gc_mem_arbiter #(.READERS(READERS), .WRITERS(WRITERS), .ADDR_W(ADDR_W), .MEM_W(MEM_W)) u_arbiter (
        .clk(clk), .rst(rst),
        .s_rreq_valid(s_rreq_valid), .s_rreq_ready(s_rreq_ready), .s_rreq_addr(s_rreq_addr), .s_rreq_len(s_rreq_len),
        .m_rdat_valid(m_rdat_valid), .m_rdat_data(m_rdat_data), .m_rdat_last(m_rdat_last),
        .s_wreq_valid(s_wreq_valid), .s_wreq_ready(s_wreq_ready), .s_wreq_addr(s_wreq_addr), .s_wreq_len(s_wreq_len),
        .s_wdat_valid(s_wdat_valid), .s_wdat_ready(s_wdat_ready), .s_wdat_data(s_wdat_data), .s_wdat_strb(s_wdat_strb),
        .s_wdat_last(s_wdat_last),
        .m_wrsp_valid(m_wrsp_valid),
        .m_rreq_valid(rreq_valid), .m_rreq_ready(rreq_ready), .m_rreq_addr(rreq_addr), .m_rreq_len(rreq_len),
        .m_rreq_client(rreq_client),
        .s_rdat_valid(rdat_valid), .s_rdat_data(s_rdat_data), .s_rdat_last(s_rdat_last),
        .m_wreq_valid(wreq_valid), .m_wreq_ready(wreq_ready), .m_wreq_addr(wreq_addr), .m_wreq_len(wreq_len),
        .m_wreq_client(wreq_client),
        .m_wdat_valid(wdat_valid), .m_wdat_ready(wdat_ready), .m_wdat_data(m_wdat_data), .m_wdat_strb(m_wdat_strb),
        .m_wdat_last(m_wdat_last),
        .s_wrsp_valid(wrsp_valid)
    );
    gc_memory_guard #(.ADDR_W(ADDR_W), .CLIENTS(READERS), .WINDOWS(WINDOWS)) u_guard (
        .clk(clk), .rst(rst),
        .cfg_base(cfg_windows[0 +: PAGES]), .cfg_end(cfg_windows[PAGES +: PAGES]),
        .cfg_read(cfg_windows[2*PAGES +: WINDOWS]), .cfg_write(cfg_windows[2*PAGES+WINDOWS +: WINDOWS]),
        .s_abort(s_abort),
        .sts_quiet(sts_quiet),
        .m_moves(m_moves),
        .s_rreq_valid(rreq_valid), .s_rreq_ready(rreq_ready), .s_rreq_addr(rreq_addr), .s_rreq_len(rreq_len),
        .s_rreq_client(rreq_client),
        .s_wreq_valid(wreq_valid), .s_wreq_ready(wreq_ready), .s_wreq_addr(wreq_addr), .s_wreq_len(wreq_len),
        .s_wreq_client(writer[READERS-1:0]),
        .s_wdat_valid(wdat_valid), .s_wdat_ready(wdat_ready),
        .m_rdat_valid(rdat_valid),
        .m_wrsp_valid(wrsp_valid),
        .m_rreq_valid(m_rreq_valid), .m_rreq_ready(m_rreq_ready), .m_rreq_addr(m_rreq_addr), .m_rreq_len(m_rreq_len),
        .s_rdat_valid(s_rdat_valid), .s_rdat_last(s_rdat_last), .s_rdat_resp(s_rdat_resp),
        .m_wreq_valid(m_wreq_valid), .m_wreq_ready(m_wreq_ready), .m_wreq_addr(m_wreq_addr), .m_wreq_len(m_wreq_len),
        .m_wdat_valid(m_wdat_valid), .m_wdat_ready(m_wdat_ready),
        .s_wrsp_valid(s_wrsp_valid), .s_wrsp_resp(s_wrsp_resp),
        .m_error(m_fault[0]),
        .m_code(m_fault[8:1]),
        .m_writes(m_fault[9]),
        .m_client(m_fault[10 +: READERS]),
        .m_addr(m_fault[10+READERS +: ADDR_W])
    );

    wire _unused = &{1'b0, writer};
endmodule

`default_nettype wire
