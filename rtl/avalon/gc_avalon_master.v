// SPDX-License-Identifier: Apache-2.0
// The native memory port (doc/streams.md) as two Avalon-MM hosts, one that reads and one that writes. Reads: pipelined
// bursts, nothing is added to their latency; OUTSTANDING of them at most wait for data. Writes: a request is held
// while its beats leave, so a burst of n beats takes n + 1 cycles; the host expects one write response per burst. Read
// data and responses are always taken; read data that nobody has asked for since the reset are dropped. No command is
// shown in a reset.
`default_nettype none

module gc_avalon_master #(
    parameter ADDR_W      = 48,
    parameter MEM_W       = 512,
    parameter OUTSTANDING = 32     // read bursts, a power of two from 2
) (
    input  wire               clk,
    input  wire               rst,
    // native memory port
    input  wire               s_rreq_valid,
    output wire               s_rreq_ready,
    input  wire [ADDR_W-1:0]  s_rreq_addr,
    input  wire [7:0]         s_rreq_len,
    output wire               m_rdat_valid,
    output wire [MEM_W-1:0]   m_rdat_data,
    output wire               m_rdat_last,
    output wire [1:0]         m_rdat_resp,
    input  wire               s_wreq_valid,
    output wire               s_wreq_ready,
    input  wire [ADDR_W-1:0]  s_wreq_addr,
    input  wire [7:0]         s_wreq_len,
    input  wire               s_wdat_valid,
    output wire               s_wdat_ready,
    input  wire [MEM_W-1:0]   s_wdat_data,
    input  wire [MEM_W/8-1:0] s_wdat_strb,
    input  wire               s_wdat_last,
    output wire               m_wrsp_valid,
    output wire [1:0]         m_wrsp_resp,
    // Avalon-MM
    output wire [ADDR_W-1:0]  avm_read_address,
    output wire               avm_read_read,
    output wire [8:0]         avm_read_burstcount,
    input  wire               avm_read_waitrequest,
    input  wire [MEM_W-1:0]   avm_read_readdata,
    input  wire               avm_read_readdatavalid,
    input  wire [1:0]         avm_read_response,
    output wire [ADDR_W-1:0]  avm_write_address,
    output wire               avm_write_write,
    output wire [8:0]         avm_write_burstcount,
    output wire [MEM_W-1:0]   avm_write_writedata,
    output wire [MEM_W/8-1:0] avm_write_byteenable,
    input  wire               avm_write_waitrequest,
    input  wire [1:0]         avm_write_response,
    input  wire               avm_write_writeresponsevalid
);
    generate
        if (OUTSTANDING < 2 || (OUTSTANDING & (OUTSTANDING-1)) != 0) begin : g_illegal_outstanding
            gradcore_illegal_parameter_OUTSTANDING_must_be_a_power_of_two_above_1 u_stop ();
        end
    endgenerate

    // ---- Reads: Avalon marks no last beat
    wire room;
    wire asked;
    wire [$clog2(OUTSTANDING):0] free_unused;

    gc_credit_counter #(.CREDITS(OUTSTANDING)) u_room (
        .clk(clk), .rst(rst),
        .s_take(s_rreq_valid && s_rreq_ready),
        .s_give(m_rdat_valid && m_rdat_last),
        .m_any(room),
        .sts_free(free_unused)
    );
    gc_burst_ends #(.BURSTS(OUTSTANDING)) u_ends (
        .clk(clk), .rst(rst),
        .s_begin(s_rreq_valid && s_rreq_ready),
        .s_len(s_rreq_len),
        .s_beat(avm_read_readdatavalid),
        .m_any(asked),
        .m_last(m_rdat_last)
    );

    assign avm_read_address    = s_rreq_addr;
    assign avm_read_burstcount = {1'b0, s_rreq_len} + 9'd1;
    assign avm_read_read       = s_rreq_valid && room && !rst;
    assign s_rreq_ready        = room && !avm_read_waitrequest;
    assign m_rdat_valid        = avm_read_readdatavalid && asked;
    assign m_rdat_data         = avm_read_readdata;
    assign m_rdat_resp         = avm_read_response;

    // ---- Writes: the request goes out together with its beats
    reg              burst_q;
    reg [ADDR_W-1:0] address_q;
    reg [8:0]        burstcount_q;

    assign s_wreq_ready         = !burst_q;
    assign avm_write_address    = address_q;
    assign avm_write_burstcount = burstcount_q;
    assign avm_write_write      = burst_q && s_wdat_valid && !rst;
    assign avm_write_writedata  = s_wdat_data;
    assign avm_write_byteenable = s_wdat_strb;
    assign s_wdat_ready         = burst_q && !avm_write_waitrequest;
    assign m_wrsp_valid         = avm_write_writeresponsevalid;
    assign m_wrsp_resp          = avm_write_response;

    always @(posedge clk) begin
        if (s_wreq_valid && s_wreq_ready) begin
            burst_q      <= 1'b1;
            address_q    <= s_wreq_addr;
            burstcount_q <= {1'b0, s_wreq_len} + 9'd1;
        end else if (s_wdat_valid && s_wdat_ready && s_wdat_last) burst_q <= 1'b0;
        if (rst) burst_q <= 1'b0;
    end

    wire _unused = &{1'b0, free_unused};
endmodule

`default_nettype wire
