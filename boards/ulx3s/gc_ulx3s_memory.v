// SPDX-License-Identifier: Apache-2.0
// The engine's memory in block RAM: DEPTH words of 64 bits behind the native memory port (doc/streams.md), one burst at
// a time on each side, a beat per cycle; the first read data come four cycles after the request. A second port, the
// host's, takes one word at a time between bursts, at a byte address divisible by 8; a read is answered by
// m_host_valid. Every response is okay; whole beats alone are written. `rst` forgets bursts, not the contents.
`default_nettype none

module gc_ulx3s_memory #(
    parameter DEPTH = 1024    // 2 and more
) (
    input  wire        clk,
    input  wire        rst,
    input  wire        s_rreq_valid,
    output wire        s_rreq_ready,
    input  wire [31:0] s_rreq_addr,
    input  wire [7:0]  s_rreq_len,
    output wire        m_rdat_valid,
    output wire [63:0] m_rdat_data,
    output wire        m_rdat_last,
    input  wire        s_wreq_valid,
    output wire        s_wreq_ready,
    input  wire [31:0] s_wreq_addr,
    input  wire        s_wdat_valid,
    output wire        s_wdat_ready,
    input  wire [63:0] s_wdat_data,
    input  wire        s_wdat_last,
    output reg         m_wrsp_valid,
    input  wire        s_host_valid,
    output wire        s_host_ready,
    input  wire        s_host_write,
    input  wire [31:0] s_host_addr,
    input  wire [63:0] s_host_data,
    output wire        m_host_valid,
    output wire [63:0] m_host_data
);
    localparam AW = $clog2(DEPTH);

    reg          reading_q, writing_q;    // a burst is under way
    reg [AW-1:0] read_at_q, write_at_q;
    reg [7:0]    left_q;                  // beats to be read, but one
    reg          last;                    // there is no more than that one: left_q is zero
    reg [2:0]    burst_q, last_q, host_q; // what the words on their way through the memory are
    reg          read_q, write_q;         // for the memory, whose blocks lie all over the device
    reg [AW-1:0] read_addr_q, write_addr_q;
    reg [63:0]   write_data_q;

    wire beat       = s_wdat_valid && writing_q;
    // The host never reads while the engine writes, or the other way round: that might be the same word.
    wire host_read  = s_host_valid && !s_host_write && !reading_q && !beat;
    wire host_write = s_host_valid && s_host_write && !reading_q && !writing_q;

    assign s_rreq_ready = !reading_q || last;
    assign s_wreq_ready = !writing_q;
    assign s_wdat_ready = writing_q;
    assign s_host_ready = s_host_write ? host_write : host_read;
    assign m_rdat_valid = burst_q[2];
    assign m_rdat_last  = last_q[2];
    assign m_host_valid = host_q[2];
    assign m_host_data  = m_rdat_data;

    gc_ram_sdp #(.WIDTH(64), .DEPTH(DEPTH), .OUT_REG(1), .OLD_WORD(0)) u_ram (
        .clk(clk),
        .s_wr_en(write_q),
        .s_wr_addr(write_addr_q),
        .s_wr_data(write_data_q),
        .s_rd_en(read_q),
        .s_rd_addr(read_addr_q),
        .m_rd_data(m_rdat_data)
    );

    always @(posedge clk) begin
        write_q      <= beat || host_write;
        write_addr_q <= writing_q ? write_at_q : s_host_addr[3 +: AW];
        write_data_q <= writing_q ? s_wdat_data : s_host_data;
        read_q       <= reading_q || host_read;
        read_addr_q  <= reading_q ? read_at_q : s_host_addr[3 +: AW];
        burst_q <= {burst_q[1:0], reading_q};
        last_q  <= {last_q[1:0], last};
        host_q  <= {host_q[1:0], host_read};
        if (s_rreq_valid && s_rreq_ready) begin
            reading_q <= 1'b1;
            read_at_q <= s_rreq_addr[3 +: AW];
            left_q    <= s_rreq_len;
            last      <= s_rreq_len == 8'd0;
        end else if (reading_q) begin
            reading_q <= !last;
            read_at_q <= read_at_q + 1'b1;
            left_q    <= left_q - 8'd1;
            last      <= left_q == 8'd1;
        end
        m_wrsp_valid <= beat && s_wdat_last;
        if (s_wreq_valid && s_wreq_ready) begin
            writing_q  <= 1'b1;
            write_at_q <= s_wreq_addr[3 +: AW];
        end else if (beat) begin
            writing_q  <= !s_wdat_last;
            write_at_q <= write_at_q + 1'b1;
        end
        if (rst) begin
            reading_q    <= 1'b0;
            writing_q    <= 1'b0;
            burst_q      <= 3'b000;
            host_q       <= 3'b000;
            m_wrsp_valid <= 1'b0;
        end
    end

    wire _unused = &{1'b0, s_rreq_addr, s_wreq_addr, s_host_addr};
endmodule

`default_nettype wire
