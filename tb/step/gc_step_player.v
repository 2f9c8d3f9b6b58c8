// SPDX-License-Identifier: Apache-2.0
// Clock, reset, host and memory for the benches of an engine: plays gc_step.hex. A line is a digit, an address and a
// value: 1 puts a beat into the memory, 2 writes a register, 3 waits for the interrupt, 4 reads a register and
// compares, 5 compares a word of 16 bits in memory. The first two lines are comments. A register access stays until
// s_reg_done. The memory port is the native one (doc/streams.md), a burst at a time on each side. A difference or 5000
// cycles without an interrupt end with $fatal, so that the simulator's exit code tells.
`default_nettype none

module gc_step_player #(
    parameter NAME   = "gc_core_tb",   // of the bench
    parameter ADDR_W = 40
) (
    output reg               clk,
    output reg               rst,
    output reg               m_reg_valid,
    output reg               m_reg_write,   // 0: read
    output reg  [11:0]       m_reg_addr,
    output reg  [31:0]       m_reg_wdata,
    input  wire              s_reg_done,
    input  wire [31:0]       s_reg_rdata,
    input  wire              irq,
    input  wire              s_rreq_valid,
    output wire              m_rreq_ready,
    input  wire [ADDR_W-1:0] s_rreq_addr,
    input  wire [7:0]        s_rreq_len,
    output reg               m_rdat_valid,
    output reg  [63:0]       m_rdat_data,
    output reg               m_rdat_last,
    input  wire              s_wreq_valid,
    output wire              m_wreq_ready,
    input  wire [ADDR_W-1:0] s_wreq_addr,
    input  wire              s_wdat_valid,
    output wire              m_wdat_ready,
    input  wire [63:0]       s_wdat_data,
    input  wire [7:0]        s_wdat_strb,
    input  wire              s_wdat_last,
    output reg               m_wrsp_valid
);
    localparam AW = 11;               // log2 of the beats in memory
    localparam [3:0] BEAT = 4'd1, WRITE = 4'd2, WAIT = 4'd3, CHECK = 4'd4, WORD = 4'd5;

    reg [63:0]   memory [0:(1 << AW)-1];
    reg [AW-1:0] read_at_q, write_at_q;
    reg [8:0]    left_q;
    reg          writing_q;

    assign m_rreq_ready = left_q == 9'd0;
    assign m_wreq_ready = !writing_q;
    assign m_wdat_ready = writing_q;

    integer b;
    always @(posedge clk) begin
        m_rdat_valid <= left_q != 9'd0;
        m_rdat_last  <= left_q == 9'd1;
        m_rdat_data  <= memory[read_at_q];
        if (left_q != 9'd0) begin
            left_q    <= left_q - 9'd1;
            read_at_q <= read_at_q + 1'b1;
        end else if (s_rreq_valid) begin
            left_q    <= {1'b0, s_rreq_len} + 9'd1;
            read_at_q <= s_rreq_addr[3 +: AW];
        end

        m_wrsp_valid <= writing_q && s_wdat_valid && s_wdat_last;
        if (!writing_q) begin
            writing_q  <= s_wreq_valid;
            write_at_q <= s_wreq_addr[3 +: AW];
        end else if (s_wdat_valid) begin
            for (b = 0; b < 8; b = b + 1) if (s_wdat_strb[b]) memory[write_at_q][8*b +: 8] <= s_wdat_data[8*b +: 8];
            write_at_q <= write_at_q + 1'b1;
            writing_q  <= !s_wdat_last;
        end
        if (rst) begin
            left_q       <= 9'd0;
            writing_q    <= 1'b0;
            m_rdat_valid <= 1'b0;
            m_wrsp_valid <= 1'b0;
        end
    end

    reg [99:0]       line;
    reg [8*80-1:0]   comment;
    reg [31:0]       found;
    integer          file, at, words, cycles;
    wire [3:0]       command = line[99:96];
    wire [31:0]      address = line[95:64];
    wire [31:0]      value   = line[31:0];

    initial begin
        clk = 1'b0;
        forever #5 clk = ~clk;
    end

    task compare(input [31:0] result);
        begin
            words = words + 1;
            if (result !== value) begin
                $display("%0s: line %0d of gc_step.hex: %0s %h is %h, expected %h", NAME, at,
                         command == CHECK ? "register" : "word at", address, result, value);
                $fatal;
            end
        end
    endtask

    task access;
        begin
            m_reg_valid = 1'b1;
            m_reg_write = command == WRITE;
            m_reg_addr  = address[11:0];
            m_reg_wdata = value;
            @(posedge clk);
            while (s_reg_done !== 1'b1) limit;
            found = s_reg_rdata;
            @(negedge clk) m_reg_valid = 1'b0;
        end
    endtask

    // A cycle, but not for ever.
    task limit;
        begin
            @(posedge clk) cycles = cycles + 1;
            if (cycles == 5000) begin
                $display("%0s: line %0d of gc_step.hex: nothing happens", NAME, at);
                $fatal;
            end
        end
    endtask

    initial begin
        for (at = 0; at < 1 << AW; at = at + 1) memory[at] = 64'd0;
        file        = $fopen("gc_step.hex", "r");
        at          = 2;
        words       = 0;
        cycles      = 0;
        m_reg_valid = 1'b0;
        m_reg_write = 1'b0;
        m_reg_addr  = 12'd0;
        m_reg_wdata = 32'd0;
        rst         = 1'b1;
        repeat (4) @(negedge clk);
        rst = 1'b0;
        if ($fgets(comment, file) == 0 || $fgets(comment, file) == 0) $fatal;
        while ($fscanf(file, "%h", line) == 1) begin
            at = at + 1;
            #1;
            case (command)
                BEAT:  memory[address[3 +: AW]] = line[63:0];
                WRITE: access;
                WAIT:  while (irq !== 1'b1) limit;
                CHECK: begin
                    access;
                    compare(found);
                end
                WORD:  compare({16'd0, memory[address[3 +: AW]][16*address[2:1] +: 16]});
                default: $fatal;
            endcase
        end
        if (words == 0) $fatal;
        $display("%0s: passed, %0d words equal, %0d cycles", NAME, words, cycles);
        $finish;
    end

    wire _unused = &{1'b0, s_rreq_addr, s_wreq_addr, line, comment};
endmodule

`default_nettype wire
