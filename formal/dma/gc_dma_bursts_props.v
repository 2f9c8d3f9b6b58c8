// SPDX-License-Identifier: Apache-2.0
// gc_dma_bursts: the bursts of a descriptor cover its runs exactly, in order; each is as long as its run, MAX_BURST
// and the next 4 KiB border allow; m_last on the last one; none without a descriptor, none in the cycle behind another;
// m_next_beats a cycle before; the rules of requests. Assumed: addresses and strides are multiples of a beat.
`default_nettype none

module gc_dma_bursts_props #(
    parameter MEM_W     = 64,
    parameter MAX_BURST = 16
) (
    input wire        clk,
    input wire        rst,
    input wire        s_valid,
    input wire [32:0] s_addr,
    input wire [31:0] s_run_beats,
    input wire [15:0] s_n1,
    input wire [31:0] s_stride1,
    input wire [15:0] s_n2,
    input wire [31:0] s_stride2,
    input wire        m_ready
);
    localparam BEAT     = MEM_W / 8;
    localparam BEAT_LOG = $clog2(BEAT);
    localparam CAP_LOG  = $clog2(MAX_BURST < 4096/BEAT ? MAX_BURST : 4096/BEAT);
    wire        s_ready;
    wire        m_valid;
    wire [32:0] m_addr;
    wire [7:0]  m_len;
    wire        m_last;
    wire [8:0]  m_next_beats;
    wire        started;

    gc_dma_bursts #(.ADDR_W(33), .MEM_W(MEM_W), .MAX_BURST(MAX_BURST)) u_dut (
        .clk(clk), .rst(rst), .s_valid(s_valid), .s_ready(s_ready), .s_addr(s_addr), .s_run_beats(s_run_beats),
        .s_n1(s_n1), .s_stride1(s_stride1), .s_n2(s_n2), .s_stride2(s_stride2),
        .m_valid(m_valid), .m_ready(m_ready), .m_addr(m_addr), .m_len(m_len), .m_last(m_last),
        .m_next_beats(m_next_beats)
    );
    gc_first_reset u_reset (.clk(clk), .rst(rst), .started(started));
    gc_request_rules #(.ADDR_W(33), .BEAT(BEAT)) u_request (
        .clk(clk), .rst(rst), .started(started), .valid(m_valid), .ready(m_ready), .addr(m_addr), .len(m_len)
    );
    gc_stream_rules #(.W(1)) u_last (.clk(clk), .rst(rst), .valid(m_valid && started), .ready(m_ready), .data(m_last));

    // The beats that are still to come, counted down by each burst in the first cycle in which it is shown.
    reg         open_q;
    reg [32:0]  next_q;        // address of the next beat
    reg [31:0]  left_q;        // beats left of its run
    reg [15:0]  runs_q;        // runs left of its group, with this one
    reg [15:0]  groups_q;
    reg [32:0]  run_q;         // starts of this run and group
    reg [32:0]  group_q;
    reg [31:0]  run_beats_q, stride1_q, stride2_q;
    reg [15:0]  n1_q;
    reg         shown_q;
    wire        fresh     = m_valid && !shown_q;
    wire [31:0] beats     = {24'd0, m_len} + 32'd1;
    wire        run_end   = fresh && beats == left_q;
    wire        group_end = run_end && runs_q == 16'd1;
    wire        all_end   = group_end && groups_q == 16'd1;
    wire [32:0] run_next   = run_q + {1'b0, stride1_q};
    wire [32:0] group_next = group_q + {1'b0, stride2_q};
    wire        nothing = s_run_beats == 0 || s_n1 == 0 || s_n2 == 0;

    // .. after the burst that is shown.
    wire        open_n   = open_q && !all_end;
    wire [32:0] group_n  = group_end ? group_next : group_q;
    wire [32:0] run_n    = group_end ? group_next : run_end ? run_next : run_q;
    wire [32:0] next_n   = run_end ? run_n : fresh ? next_q + {1'b0, beats << BEAT_LOG} : next_q;
    wire [31:0] left_n   = run_end ? run_beats_q : fresh ? left_q - beats : left_q;
    wire [15:0] runs_n   = group_end ? n1_q : run_end ? runs_q - 16'd1 : runs_q;
    wire [15:0] groups_n = group_end ? groups_q - 16'd1 : groups_q;

    always @(posedge clk) begin
        shown_q  <= m_valid && !m_ready;
        open_q   <= open_n;
        next_q   <= next_n;
        left_q   <= left_n;
        runs_q   <= runs_n;
        groups_q <= groups_n;
        run_q    <= run_n;
        group_q  <= group_n;
        if (s_valid && s_ready) begin
            open_q      <= !nothing;
            next_q      <= s_addr;
            run_q       <= s_addr;
            group_q     <= s_addr;
            left_q      <= s_run_beats;
            run_beats_q <= s_run_beats;
            runs_q      <= s_n1;
            n1_q        <= s_n1;
            groups_q    <= s_n2;
            stride1_q   <= s_stride1;
            stride2_q   <= s_stride2;
        end
        if (rst) begin
            open_q  <= 1'b0;
            shown_q <= 1'b0;
        end
    end

    (* hierconn *) wire        \u_dut.issued_q ;
    (* hierconn *) wire [1:0]  \u_dut.next_q ;
    (* hierconn *) wire [32:0] \u_dut.addr_q ;
    (* hierconn *) wire        \u_dut.carry_q ;
    (* hierconn *) wire [32:0] \u_dut.run_q ;
    (* hierconn *) wire [32:0] \u_dut.group_q ;
    (* hierconn *) wire [31:0] \u_dut.left_q ;
    (* hierconn *) wire        \u_dut.borrow_q ;
    (* hierconn *) wire        \u_dut.left_none_q ;
    (* hierconn *) wire [15:0] \u_dut.left1_q ;
    (* hierconn *) wire [15:0] \u_dut.left2_q ;
    (* hierconn *) wire        \u_dut.last1_q ;
    (* hierconn *) wire        \u_dut.last2_q ;
    (* hierconn *) wire [31:0] \u_dut.run_beats_q ;
    (* hierconn *) wire        \u_dut.run_many_q ;
    (* hierconn *) wire [15:0] \u_dut.n1_q ;
    (* hierconn *) wire [31:0] \u_dut.stride1_q ;
    (* hierconn *) wire [31:0] \u_dut.stride2_q ;
    (* hierconn *) wire [32:0] \u_dut.run_next ;
    (* hierconn *) wire [32:0] \u_dut.group_next ;
    (* hierconn *) wire [20:0] \u_dut.pages_next ;
    (* hierconn *) wire [CAP_LOG:0] \u_dut.beats_q ;
    (* hierconn *) wire        \u_dut.run_end_q ;

    reg         taken_q;
    reg [8:0]   promised_q;
    always @(posedge clk) begin
        taken_q    <= !rst && m_valid && m_ready;
        promised_q <= m_next_beats;
    end

    // What the registers mean in the cycle after an issue, in which carries and the next run are still to come.
    wire        run_on   = \u_dut.next_q == 2'd1;
    wire        group_on = \u_dut.next_q == 2'd2;
    wire [32:0] group_at = group_on ? \u_dut.group_q + {1'b0, \u_dut.stride2_q } : \u_dut.group_q ;
    wire [32:0] run_at   = group_on ? group_at : run_on ? \u_dut.run_q + {1'b0, \u_dut.stride1_q } : \u_dut.run_q ;
    wire [32:0] addr_at  = run_on || group_on ? run_at : \u_dut.addr_q + {20'd0, \u_dut.carry_q , 12'd0};
    wire [31:0] left_at  = run_on || group_on ? \u_dut.run_beats_q
                                              : \u_dut.left_q - {15'd0, \u_dut.borrow_q , 16'd0};
    wire [31:0] edge_at  = (32'd4096 - {20'd0, next_n[11:0]}) >> BEAT_LOG;
    wire [31:0] room_at  = edge_at < MAX_BURST ? edge_at : MAX_BURST;
    wire [31:0] beats_at = left_n < room_at ? left_n : room_at;

    always @* begin
        assume (s_addr % BEAT == 0 && s_stride1 % BEAT == 0 && s_stride2 % BEAT == 0);
        if (started) begin
            if (fresh) begin
                assert (open_q && m_addr == next_q && beats <= left_q && beats <= MAX_BURST && m_last == all_end);
                assert (run_end || beats == MAX_BURST || (m_addr + (beats << BEAT_LOG)) % 4096 == 0);
            end
            // The same in both, and nothing left of a closed descriptor.
            assert (s_ready == !open_n && \u_dut.issued_q == fresh);
            assert ((\u_dut.next_q == 2'd3) == !open_n);
            if (m_valid) assert (!taken_q && promised_q == {1'b0, m_len} + 9'd1);
            if (m_valid) assert (beats <= MAX_BURST && m_addr % BEAT == 0
                && m_addr[11:0] + (beats << BEAT_LOG) <= 4096);
            if (open_n) begin
                assert (addr_at == next_n && run_at == run_n && group_at == group_n && left_at == left_n);
                assert (\u_dut.left1_q == runs_n && \u_dut.left2_q == groups_n);
                if (fresh) begin
                    assert (\u_dut.run_next == \u_dut.run_q + {1'b0, \u_dut.stride1_q });
                    assert (\u_dut.group_next == \u_dut.group_q + {1'b0, \u_dut.stride2_q });
                    assert (\u_dut.pages_next == \u_dut.addr_q [32:12] + 21'd1);
                    assert (\u_dut.left_none_q == (\u_dut.left_q [31:16] == 16'd0));
                    assert (\u_dut.run_many_q == (run_beats_q >> (CAP_LOG + 1) != 0));
                end else begin
                    assert (\u_dut.next_q == 2'd0 && ! \u_dut.carry_q && ! \u_dut.borrow_q );
                    assert (\u_dut.beats_q == beats_at && \u_dut.run_end_q == (left_n <= room_at));
                    assert (\u_dut.last1_q == (runs_n == 16'd1) && \u_dut.last2_q == (groups_n == 16'd1));
                end
                assert (\u_dut.run_beats_q == run_beats_q && \u_dut.n1_q == n1_q);
                assert (\u_dut.stride1_q == stride1_q && \u_dut.stride2_q == stride2_q);
                assert (left_n != 0 && runs_n != 0 && groups_n != 0 && run_beats_q != 0 && n1_q != 0);
                assert (next_n % BEAT == 0 && run_n % BEAT == 0 && group_n % BEAT == 0
                    && stride1_q % BEAT == 0 && stride2_q % BEAT == 0);
            end
            cover (all_end && n1_q == 16'd2 && run_beats_q == 32'd2 && m_len == 8'd0);
        end
    end
endmodule

`default_nettype wire
