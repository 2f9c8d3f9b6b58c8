// SPDX-License-Identifier: Apache-2.0
// Shares one native memory port between READERS read and WRITERS write clients. A request goes to the lowest waiting
// client number; starvation is bounded by the clients' own credits. Read data return in the order of the requests, to
// the client that asked; a write grant is held until the burst's last beat. One read request and one beat per cycle; a
// write burst of n beats takes n + 1 cycles. Requests reach the port without delay. At most DEPTH bursts wait for data
// or responses on each side. A ready may stand where nobody asks; it does not wait for the request that it answers.
`default_nettype none

module gc_mem_arbiter #(
    parameter READERS = 5,
    parameter WRITERS = 3,
    parameter ADDR_W  = 48,
    parameter MEM_W   = 512,
    parameter DEPTH   = 32
) (
    input  wire                       clk,
    input  wire                       rst,
    input  wire [READERS-1:0]         s_rreq_valid,
    output wire [READERS-1:0]         s_rreq_ready,
    input  wire [READERS*ADDR_W-1:0]  s_rreq_addr,
    input  wire [READERS*8-1:0]       s_rreq_len,
    output wire [READERS-1:0]         m_rdat_valid,
    output wire [MEM_W-1:0]           m_rdat_data,
    output wire                       m_rdat_last,
    input  wire [WRITERS-1:0]         s_wreq_valid,
    output wire [WRITERS-1:0]         s_wreq_ready,
    input  wire [WRITERS*ADDR_W-1:0]  s_wreq_addr,
    input  wire [WRITERS*8-1:0]       s_wreq_len,
    input  wire [WRITERS-1:0]         s_wdat_valid,
    output wire [WRITERS-1:0]         s_wdat_ready,
    input  wire [WRITERS*MEM_W-1:0]   s_wdat_data,
    input  wire [WRITERS*MEM_W/8-1:0] s_wdat_strb,
    input  wire [WRITERS-1:0]         s_wdat_last,
    output wire [WRITERS-1:0]         m_wrsp_valid,
    output wire                       m_rreq_valid,
    input  wire                       m_rreq_ready,
    output wire [ADDR_W-1:0]          m_rreq_addr,
    output wire [7:0]                 m_rreq_len,
    output wire [READERS-1:0]         m_rreq_client,   // one-hot
    input  wire                       s_rdat_valid,
    input  wire [MEM_W-1:0]           s_rdat_data,
    input  wire                       s_rdat_last,
    output wire                       m_wreq_valid,
    input  wire                       m_wreq_ready,
    output wire [ADDR_W-1:0]          m_wreq_addr,
    output wire [7:0]                 m_wreq_len,
    output wire [WRITERS-1:0]         m_wreq_client,
    output wire                       m_wdat_valid,
    input  wire                       m_wdat_ready,
    output wire [MEM_W-1:0]           m_wdat_data,
    output wire [MEM_W/8-1:0]         m_wdat_strb,
    output wire                       m_wdat_last,
    input  wire                       s_wrsp_valid
);
    generate
        if (READERS < 1 || WRITERS < 1) begin : g_illegal_clients
            gradcore_illegal_parameter_READERS_or_WRITERS_below_1 u_stop ();
        end
        if (MEM_W < 64 || MEM_W > 512 || (MEM_W & (MEM_W-1)) != 0) begin : g_illegal_mem_w
            gradcore_illegal_parameter_MEM_W_must_be_a_power_of_two_from_64_to_512 u_stop ();
        end
    endgenerate

    wire [READERS*(ADDR_W+8)-1:0] r_flat;
    wire [WRITERS*(ADDR_W+8)-1:0] w_flat;
    wire [WRITERS*(MEM_W+MEM_W/8+1)-1:0] d_flat;

    // ---- Read side
    wire [READERS-1:0] r_turn;
    wire [READERS-1:0] r_pick;
    wire [READERS-1:0] r_owner;
    wire               r_room;

    gc_request_pick #(.N(READERS)) u_read_pick (
        .clk(clk), .rst(rst),
        .s_request(s_rreq_valid), .s_show(r_room),
        .s_taken(m_rreq_ready),
        .m_turn(r_turn), .m_pick(r_pick)
    );
    gc_one_hot_mux #(.N(READERS), .W(ADDR_W+8)) u_read_mux (
        .s_select(r_pick),
        .s_data(r_flat),
        .m_data({m_rreq_addr, m_rreq_len})
    );
    wire read_owners_m_valid_unused;
    gc_register_queue #(.WIDTH(READERS), .DEPTH(DEPTH)) u_read_owners (
        .clk(clk), .rst(rst),
        .s_push(m_rreq_valid && m_rreq_ready),
        .s_data(r_pick),
        .m_room(r_room),
        .m_valid(read_owners_m_valid_unused),
        .s_pop(s_rdat_valid && s_rdat_last),
        .m_data(r_owner)
    );
    assign m_rreq_valid = |s_rreq_valid && r_room;
    assign m_rreq_client = r_pick;
    assign s_rreq_ready = r_turn & {READERS{m_rreq_ready}};
    assign m_rdat_valid = r_owner & {READERS{s_rdat_valid}};
    assign m_rdat_data  = s_rdat_data;
    assign m_rdat_last  = s_rdat_last;

    genvar i;
    generate
        for (i = 0; i < READERS; i = i + 1) begin : g_reader
            assign r_flat[i*(ADDR_W+8) +: ADDR_W+8] = {s_rreq_addr[i*ADDR_W +: ADDR_W], s_rreq_len[i*8 +: 8]};
        end
        for (i = 0; i < WRITERS; i = i + 1) begin : g_writer
            assign w_flat[i*(ADDR_W+8) +: ADDR_W+8] = {s_wreq_addr[i*ADDR_W +: ADDR_W], s_wreq_len[i*8 +: 8]};
            assign d_flat[i*(MEM_W+MEM_W/8+1) +: MEM_W+MEM_W/8+1] =
                {s_wdat_last[i], s_wdat_strb[i*MEM_W/8 +: MEM_W/8], s_wdat_data[i*MEM_W +: MEM_W]};
        end
    endgenerate

    // ---- Write side: request, then the data of that client until the last beat
    wire [WRITERS-1:0] w_turn;
    wire [WRITERS-1:0] w_pick;
    wire [WRITERS-1:0] w_owner;
    wire               w_room;
    reg  [WRITERS-1:0] data_q;      // client whose beats are leaving
    wire               w_open   = w_room && ~(|data_q);
    wire               data_end = m_wdat_valid && m_wdat_ready && m_wdat_last;

    gc_request_pick #(.N(WRITERS)) u_write_pick (
        .clk(clk), .rst(rst),
        .s_request(s_wreq_valid), .s_show(w_open),
        .s_taken(m_wreq_ready),
        .m_turn(w_turn), .m_pick(w_pick)
    );
    gc_one_hot_mux #(.N(WRITERS), .W(ADDR_W+8)) u_write_mux (
        .s_select(w_pick),
        .s_data(w_flat),
        .m_data({m_wreq_addr, m_wreq_len})
    );
    gc_one_hot_mux #(.N(WRITERS), .W(MEM_W+MEM_W/8+1)) u_data_mux (
        .s_select(data_q),
        .s_data(d_flat),
        .m_data({m_wdat_last, m_wdat_strb, m_wdat_data})
    );
    wire write_owners_m_valid_unused;
    gc_register_queue #(.WIDTH(WRITERS), .DEPTH(DEPTH)) u_write_owners (
        .clk(clk), .rst(rst),
        .s_push(m_wreq_valid && m_wreq_ready),
        .s_data(w_pick),
        .m_room(w_room),
        .m_valid(write_owners_m_valid_unused),
        .s_pop(s_wrsp_valid),
        .m_data(w_owner)
    );
    assign m_wreq_valid = |s_wreq_valid && w_open;
    assign m_wreq_client = w_pick;
    assign s_wreq_ready = w_turn & {WRITERS{m_wreq_ready}};
    assign m_wdat_valid = |(data_q & s_wdat_valid);
    assign s_wdat_ready = data_q & {WRITERS{m_wdat_ready}};
    assign m_wrsp_valid = w_owner & {WRITERS{s_wrsp_valid}};

    always @(posedge clk) begin
        if (m_wreq_valid && m_wreq_ready) data_q <= w_pick;
        else if (data_end)                data_q <= {WRITERS{1'b0}};
        if (rst) data_q <= {WRITERS{1'b0}};
    end

    wire _unused = &{1'b0, read_owners_m_valid_unused, write_owners_m_valid_unused};
endmodule

`default_nettype wire
