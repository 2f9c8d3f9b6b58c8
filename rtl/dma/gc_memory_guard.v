// SPDX-License-Identifier: Apache-2.0
// Stands between gc_mem_arbiter and the memory port and lets nothing out that was not allowed. A request passes if its
// 4 KiB page lies in a window that has the right; else it is held back for good and reported. Error responses are
// reported with client and address of their burst. While s_abort is high no new request leaves; what has been shown or
// issued runs to its end, and sts_quiet tells when nothing is outstanding any more. After a reset in mid-burst answers
// may come that nobody waits for: m_rdat_valid and m_wrsp_valid leave them out. Requests take two cycles, data none; a
// write request comes when the beats of the one before have left, as from gc_mem_arbiter. Obeys doc/streams.md,
// "Native memory port".
`default_nettype none

module gc_memory_guard #(
    parameter ADDR_W  = 48,    // 32..64
    parameter CLIENTS = 5,     // of gc_mem_arbiter on the side that has more, one-hot
    parameter WINDOWS = 4,
    parameter DEPTH   = 32     // bursts outstanding on each side, power of two
) (
    input  wire                           clk,
    input  wire                           rst,
    input  wire [WINDOWS*(ADDR_W-12)-1:0] cfg_base,         // first page of each window
    input  wire [WINDOWS*(ADDR_W-12)-1:0] cfg_end,          // first page behind it
    input  wire [WINDOWS-1:0]             cfg_read,
    input  wire [WINDOWS-1:0]             cfg_write,
    input  wire                           s_abort,
    output wire                           sts_quiet,
    // of this cycle: {response, write request, read request, write beat, read beat}
    output wire [4:0]                     m_moves,
    // from gc_mem_arbiter
    input  wire                           s_rreq_valid,
    output wire                           s_rreq_ready,
    input  wire [ADDR_W-1:0]              s_rreq_addr,
    input  wire [7:0]                     s_rreq_len,
    input  wire [CLIENTS-1:0]             s_rreq_client,
    input  wire                           s_wreq_valid,
    output wire                           s_wreq_ready,
    input  wire [ADDR_W-1:0]              s_wreq_addr,
    input  wire [7:0]                     s_wreq_len,
    input  wire [CLIENTS-1:0]             s_wreq_client,
    input  wire                           s_wdat_valid,
    output wire                           s_wdat_ready,
    output wire                           m_rdat_valid,
    output wire                           m_wrsp_valid,
    // memory port
    output wire                           m_rreq_valid,
    input  wire                           m_rreq_ready,
    output wire [ADDR_W-1:0]              m_rreq_addr,
    output wire [7:0]                     m_rreq_len,
    input  wire                           s_rdat_valid,
    input  wire                           s_rdat_last,
    input  wire [1:0]                     s_rdat_resp,      // 0: okay
    output wire                           m_wreq_valid,
    input  wire                           m_wreq_ready,
    output wire [ADDR_W-1:0]              m_wreq_addr,
    output wire [7:0]                     m_wreq_len,
    output wire                           m_wdat_valid,
    input  wire                           m_wdat_ready,
    input  wire                           s_wrsp_valid,
    input  wire [1:0]                     s_wrsp_resp,
    // what went wrong, valid for one cycle, again while it lasts
    output wire                           m_error,
    output wire [7:0]                     m_code,           // doc/registers.md, ERROR
    output wire                           m_writes,         // the client is a writer
    output wire [CLIENTS-1:0]             m_client,
    output wire [ADDR_W-1:0]              m_addr
);
    localparam [7:0] READ_WINDOW  = 8'd7;
    localparam [7:0] WRITE_WINDOW = 8'd8;

    generate
        if (ADDR_W < 32 || ADDR_W > 64) begin : g_illegal_addr_w
            gradcore_illegal_parameter_ADDR_W_must_be_32_to_64 u_stop ();
        end
        if (WINDOWS < 1 || CLIENTS < 1) begin : g_illegal_counts
            gradcore_illegal_parameter_WINDOWS_or_CLIENTS_below_1 u_stop ();
        end
    endgenerate

    // ---- Requests
    wire               r_refused;
    wire               w_refused;
    wire [CLIENTS-1:0] r_client;
    wire [CLIENTS-1:0] w_client;
    wire               r_room;
    wire               w_room;
    wire               data_free;      // no burst's beats are on their way

    gc_window_check #(.ADDR_W(ADDR_W), .CLIENTS(CLIENTS), .WINDOWS(WINDOWS)) u_reads (
        .clk(clk), .rst(rst),
        .cfg_base(cfg_base), .cfg_end(cfg_end), .cfg_right(cfg_read),
        .s_hold(s_abort),
        .s_valid(s_rreq_valid), .s_ready(s_rreq_ready), .s_addr(s_rreq_addr), .s_len(s_rreq_len),
        .s_client(s_rreq_client),
        .m_valid(m_rreq_valid), .m_ready(m_rreq_ready), .m_addr(m_rreq_addr), .m_len(m_rreq_len),
        .m_client(r_client),
        .m_refused(r_refused)
    );
    gc_window_check #(.ADDR_W(ADDR_W), .CLIENTS(CLIENTS), .WINDOWS(WINDOWS)) u_writes (
        .clk(clk), .rst(rst),
        .cfg_base(cfg_base), .cfg_end(cfg_end), .cfg_right(cfg_write),
        .s_hold(s_abort),
        .s_valid(s_wreq_valid), .s_ready(s_wreq_ready), .s_addr(s_wreq_addr), .s_len(s_wreq_len),
        .s_client(s_wreq_client),
        .m_valid(m_wreq_valid), .m_ready(m_wreq_ready), .m_addr(m_wreq_addr), .m_len(m_wreq_len),
        .m_client(w_client),
        .m_refused(w_refused)
    );

    // ---- Outstanding bursts. gc_mem_arbiter has at most DEPTH on each side, so there is always room.
    wire               r_open;
    wire               w_open;
    wire [CLIENTS-1:0] r_owner;
    wire [CLIENTS-1:0] w_owner;
    wire [ADDR_W-1:0]  r_addr;
    wire [ADDR_W-1:0]  w_addr;
    gc_register_queue #(.WIDTH(CLIENTS+ADDR_W), .DEPTH(DEPTH)) u_read_bursts (
        .clk(clk), .rst(rst),
        .s_push(m_rreq_valid && m_rreq_ready),
        .s_data({r_client, m_rreq_addr}),
        .m_room(r_room),
        .m_valid(r_open),
        .s_pop(m_rdat_valid && s_rdat_last),
        .m_data({r_owner, r_addr})
    );
    gc_register_queue #(.WIDTH(CLIENTS+ADDR_W), .DEPTH(DEPTH)) u_write_bursts (
        .clk(clk), .rst(rst),
        .s_push(m_wreq_valid && m_wreq_ready),
        .s_data({w_client, m_wreq_addr}),
        .m_room(w_room),
        .m_valid(w_open),
        .s_pop(m_wrsp_valid),
        .m_data({w_owner, w_addr})
    );

    assign m_rdat_valid = s_rdat_valid && r_open;
    assign m_wrsp_valid = s_wrsp_valid && w_open;

    // ---- Write data follow their request. The writers ask only when they have all beats of a burst, so an abort lets
    // them finish.
    reg [8:0] beats_q;
    reg       free_q;         // it is zero
    wire      beat = m_wdat_valid && m_wdat_ready;
    assign data_free    = free_q;
    assign m_wdat_valid = s_wdat_valid && !data_free;
    assign s_wdat_ready = m_wdat_ready && !data_free;
    always @(posedge clk) begin
        if (m_wreq_valid && m_wreq_ready) begin
            beats_q <= {1'b0, m_wreq_len} + 9'd1;
            free_q  <= 1'b0;
        end else if (beat) begin
            beats_q <= beats_q - 9'd1;
            free_q  <= beats_q == 9'd1;
        end
        if (rst) begin
            beats_q <= 9'd0;
            free_q  <= 1'b1;
        end
    end
    assign m_moves   = {m_wrsp_valid, m_wreq_valid && m_wreq_ready, m_rreq_valid && m_rreq_ready, beat, m_rdat_valid};
    assign sts_quiet = !m_rreq_valid && !m_wreq_valid && !r_open && !w_open && data_free;

    // ---- Errors
    wire bad_read  = m_rdat_valid && |s_rdat_resp;
    wire bad_write = m_wrsp_valid && |s_wrsp_resp;
    assign m_error  = r_refused || w_refused || bad_read || bad_write;
    assign m_code   = bad_read ? {6'd4, s_rdat_resp} : bad_write ? {6'd8, s_wrsp_resp}
        : r_refused ? READ_WINDOW : WRITE_WINDOW;
    assign m_writes = !bad_read && (bad_write || !r_refused);
    assign m_client = bad_read ? r_owner : bad_write ? w_owner : r_refused ? r_client : w_client;
    assign m_addr   = bad_read ? r_addr  : bad_write ? w_addr  : r_refused ? m_rreq_addr : m_wreq_addr;

    wire _unused = &{1'b0, r_room, w_room};
endmodule

`default_nettype wire
