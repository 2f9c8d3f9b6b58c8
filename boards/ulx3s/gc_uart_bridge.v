// SPDX-License-Identifier: Apache-2.0
// A host at the other end of a serial line reads and writes the engine's registers and its memory with frames
// (boards/ulx3s/README.md). A frame takes effect when all of it has come and its CRC is right, and at most once: one
// that comes again with the number of the one before is answered, but writes nothing. A frame that stops in its middle
// is forgotten after 2^SILENCE_W cycles. One frame at a time: the host waits for the answer.
`default_nettype none

module gc_uart_bridge #(
    parameter DIVISOR   = 16,          // cycles of a bit, 4..65536
    parameter CLOCK_HZ  = 1000000,     // what the host is told of the clock
    parameter MEM_BYTES = 65536,       // and of the memory
    parameter SILENCE_W = 20           // 8..31
) (
    input  wire        clk,
    input  wire        rst,
    input  wire        rx,
    output wire        tx,
    // native register port (doc/streams.md)
    output reg         m_reg_write,
    output reg  [11:0] m_reg_addr,
    output wire [31:0] m_reg_wdata,
    output wire [3:0]  m_reg_strb,
    output reg         m_reg_read,
    input  wire [31:0] s_reg_rdata,
    // memory: one word at a time, at a byte address divisible by 8; a read is answered by s_mem_valid
    output wire        m_mem_valid,
    input  wire        m_mem_ready,
    output wire        m_mem_write,
    output wire [31:0] m_mem_addr,
    output wire [63:0] m_mem_data,
    input  wire        s_mem_valid,
    input  wire [63:0] s_mem_data
);
    localparam [7:0] WRITE = "W", READ = "R", DONE = "K", REFUSED = "N";
    localparam [7:0] MEMORY = 8'd0, REGISTERS = 8'd1, FACTS = 8'd2;
    localparam [3:0] HEAD = 4'd0, DATA = 4'd1, CHECK = 4'd2, FETCH = 4'd3, ACCESS = 4'd4, WAIT = 4'd5, FIRST = 4'd6,
                     NUMBER = 4'd7, WORD = 4'd8, CRC_HIGH = 4'd9, CRC_LOW = 4'd10;
    localparam [31:0] CLOCK = CLOCK_HZ, BYTES = MEM_BYTES;

    generate
        if (SILENCE_W < 8 || SILENCE_W > 31) begin : g_illegal_silence_w
            gradcore_illegal_parameter_SILENCE_W_must_be_8_to_31 u_stop ();
        end
    endgenerate

    reg [3:0]           state_q;
    reg [2:0]           at_q;         // byte of the head, of a word, of the CRC
    reg [63:0]          word_q;       // enters at the high end, leaves at the low one: lowest byte first
    reg [7:0]           kind_q, number_q, space_q, last_number_q;
    reg [4:0]           count_q;      // words but one
    reg [4:0]           index_q;
    reg [31:0]          addr_q;
    reg [15:0]          crc_q;
    reg                 good_q;
    reg                 waited_q;     // for a register: its word is here
    reg [SILENCE_W-1:0] silence_q;

    wire        rx_valid, tx_ready;
    wire [7:0]  rx_data;
    wire [63:0] kept;
    wire [15:0] crc_next;
    wire        hears  = state_q == HEAD || state_q == DATA || state_q == CHECK;
    wire        idle   = state_q == HEAD && at_q == 3'd0;
    wire        tells  = state_q == CRC_HIGH || state_q == CRC_LOW;
    wire        says   = state_q == FIRST || state_q == NUMBER || state_q == WORD || tells;
    wire        sent   = says && tx_ready;
    wire [7:0]  out    = state_q == FIRST ? (good_q ? DONE : REFUSED) : state_q == NUMBER ? number_q
                       : state_q == WORD ? word_q[7:0] : crc_q[15:8];
    wire        writes = kind_q == WRITE;
    wire        taken  = space_q != MEMORY || m_mem_ready;
    wire        good   = crc_next == 16'd0 && (space_q <= REGISTERS || (space_q == FACTS && !writes));
    wire        end_of_word = at_q == 3'd7, last_word = index_q == count_q;

    gc_uart_rx #(.DIVISOR(DIVISOR)) u_rx (.clk(clk), .rst(rst), .rx(rx), .m_valid(rx_valid), .m_data(rx_data));
    gc_uart_tx #(.DIVISOR(DIVISOR)) u_tx (
        .clk(clk), .rst(rst),
        .s_valid(says), .s_ready(tx_ready), .s_data(out),
        .tx(tx)
    );
    gc_crc16 u_crc (.s_crc(crc_q), .s_data(hears ? rx_data : out), .m_crc(crc_next));

    // Words to be written wait here until the CRC has come.
    gc_ram_sdp #(.WIDTH(64), .DEPTH(32)) u_words (
        .clk(clk),
        .s_wr_en(rx_valid && state_q == DATA && end_of_word), .s_wr_addr(index_q),
        .s_wr_data({rx_data, word_q[63:8]}),
        .s_rd_en(state_q == FETCH), .s_rd_addr(index_q), .m_rd_data(kept)
    );

    // The engine's registers lie far away: what goes there leaves by registers, a cycle after ACCESS.
    always @(posedge clk) begin
        m_reg_write <= state_q == ACCESS && writes && space_q == REGISTERS && !rst;
        m_reg_read  <= state_q == ACCESS && !writes && space_q == REGISTERS && !rst;
        m_reg_addr  <= addr_q[11:0];
        waited_q    <= state_q == WAIT;
    end
    assign m_reg_wdata = kept[31:0];
    assign m_reg_strb  = 4'b1111;
    assign m_mem_valid = state_q == ACCESS && space_q == MEMORY;
    assign m_mem_write = writes;
    assign m_mem_addr  = addr_q;
    assign m_mem_data  = kept;

    always @(posedge clk) begin
        silence_q <= rx_valid || idle || !hears ? {SILENCE_W{1'b0}} : silence_q + 1'b1;
        if (idle && !rx_valid) crc_q <= 16'hFFFF;
        else if (sent && tells) crc_q <= {crc_q[7:0], 8'd0};
        else if (sent || (rx_valid && hears)) crc_q <= crc_next;
        if (rx_valid && state_q == DATA) word_q <= {rx_data, word_q[63:8]};

        case (state_q)
            HEAD:
                if (rx_valid) begin
                    at_q    <= at_q + 3'd1;
                    index_q <= 5'd0;
                    case (at_q)
                        3'd0: kind_q   <= rx_data;
                        3'd1: number_q <= rx_data;
                        3'd2: space_q  <= rx_data;
                        3'd3: count_q  <= rx_data[4:0];
                        default: addr_q <= {rx_data, addr_q[31:8]};
                    endcase
                    if (at_q == 3'd0 && rx_data != WRITE && rx_data != READ) at_q <= 3'd0;
                    if (end_of_word) state_q <= writes ? DATA : CHECK;
                end
            DATA:
                if (rx_valid) begin
                    at_q <= at_q + 3'd1;
                    if (end_of_word) begin
                        index_q <= index_q + 5'd1;
                        if (last_word) state_q <= CHECK;
                    end
                end
            CHECK: begin
                index_q <= 5'd0;
                if (rx_valid) begin
                    at_q <= at_q + 3'd1;
                    if (at_q[0]) begin
                        at_q    <= 3'd0;
                        good_q  <= good;
                        crc_q   <= 16'hFFFF;
                        state_q <= good && writes && number_q != last_number_q ? FETCH : FIRST;
                    end
                end
            end
            FETCH: state_q <= ACCESS;
            ACCESS:
                if (taken) begin
                    addr_q <= addr_q + (space_q == MEMORY ? 32'd8 : 32'd4);
                    if (!writes) state_q <= WAIT;
                    else begin
                        index_q <= index_q + 5'd1;
                        state_q <= last_word ? FIRST : FETCH;
                    end
                end
            WAIT:
                if (space_q == MEMORY ? s_mem_valid : waited_q) begin
                    case (space_q)
                        MEMORY:    word_q <= s_mem_data;
                        REGISTERS: word_q <= {32'd0, s_reg_rdata};
                        default:   word_q <= {32'd0, addr_q[2] ? BYTES : CLOCK};  // addr_q is that of the next word
                    endcase
                    state_q <= WORD;
                end
            FIRST: if (sent) state_q <= NUMBER;
            NUMBER:
                if (sent) begin
                    state_q <= good_q && !writes ? ACCESS : CRC_HIGH;
                    if (good_q) last_number_q <= number_q;
                end
            WORD:
                if (sent) begin
                    word_q <= word_q >> 8;
                    at_q   <= at_q + 3'd1;
                    if (end_of_word) begin
                        index_q <= index_q + 5'd1;
                        state_q <= last_word ? CRC_HIGH : ACCESS;
                    end
                end
            CRC_HIGH: if (sent) state_q <= CRC_LOW;
            default: if (sent) state_q <= HEAD;
        endcase
        if (&silence_q) begin
            state_q <= HEAD;
            at_q    <= 3'd0;
        end
        if (rst) begin
            state_q       <= HEAD;
            at_q          <= 3'd0;
            last_number_q <= 8'd0;
        end
    end
endmodule

`default_nettype wire
