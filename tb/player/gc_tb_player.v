// SPDX-License-Identifier: Apache-2.0
// Clock, reset and both ends of a stream for the benches of the targets `sim`: plays the list in NAME.hex and compares
// what comes back, word by word and in order. A line of the list is a digit and a word: 1 sends the word as soon as
// m_ready allows, 2 expects it, 3 waits until all that is expected above has come, 0 lets a cycle pass. The first two
// lines are comments. STALLS: s_ready is low in about every other cycle. A word that differs, one too many or 1000
// cycles without one end with $fatal, so that the simulator's exit code tells.
`default_nettype none

module gc_tb_player #(
    parameter NAME   = "gc_core_tb",   // of the bench
    parameter IN_W   = 8,              // bits of a word that is sent
    parameter OUT_W  = 8,              // bits of a word that is expected
    parameter STALLS = 0
) (
    output reg              clk,
    output reg              rst,
    output reg              m_valid,
    input  wire             m_ready,
    output reg  [IN_W-1:0]  m_data,
    input  wire             s_valid,
    output reg              s_ready,
    input  wire [OUT_W-1:0] s_data
);
    localparam W = ((IN_W > OUT_W ? IN_W : OUT_W) + 3)/4*4;    // whole digits
    localparam [3:0] SEND = 4'd1, EXPECT = 4'd2, AWAIT = 4'd3, END = 4'd4;

    reg [W+3:0] line;        // that is played
    reg [W+3:0] expected;    // the line that is expected next
    integer     line_file, expected_file;
    integer     line_at, expected_at;
    integer     words;       // that were equal
    integer     quiet;       // cycles since the last one
    reg [8*80-1:0] comment;

    initial begin
        clk = 1'b0;
        forever #5 clk = ~clk;
    end

    task open(output integer file);
        begin
            file = $fopen({NAME, ".hex"}, "r");
            if (file == 0 || $fgets(comment, file) == 0 || $fgets(comment, file) == 0) begin
                $display("%0s: no list", NAME);
                $fatal;
            end
        end
    endtask

    task next_line;
        begin
            line_at = line_at + 1;
            if ($fscanf(line_file, "%h", line) != 1) line = {END, {W{1'b0}}};
        end
    endtask

    task next_expected;
        begin
            expected[W +: 4] = SEND;
            while (expected[W +: 4] != EXPECT && expected[W +: 4] != END) begin
                expected_at = expected_at + 1;
                if ($fscanf(expected_file, "%h", expected) != 1) expected = {END, {W{1'b0}}};
            end
        end
    endtask

    task fail;
        begin
            $display("%0s: %0d words are equal, then %0s: %h, line %0d expects %h", NAME, words,
                     s_valid === 1'b0 ? "nothing comes" : "another", s_data, expected_at, expected[OUT_W-1:0]);
            $fatal;
        end
    endtask

    task send;
        begin
            m_valid = 1'b1;
            m_data  = line[IN_W-1:0];
            @(posedge clk);
            while (m_ready !== 1'b1) @(posedge clk);
            @(negedge clk) m_valid = 1'b0;
        end
    endtask

    initial begin
        open(expected_file);
        expected_at = 2;
        words       = 0;
        quiet       = 0;
        s_ready     = 1'b0;
        next_expected;
        while (quiet < 1000) begin
            @(negedge clk) s_ready = STALLS == 0 || $random % 2 == 0;
            @(posedge clk);
            if (!rst) quiet = quiet + 1;
            if (!rst && s_valid !== 1'b0 && s_ready) begin
                if (s_valid !== 1'b1 || expected[W +: 4] != EXPECT || s_data !== expected[OUT_W-1:0]) fail;
                words = words + 1;
                quiet = 0;
                next_expected;
            end
        end
        fail;
    end

    initial begin
        open(line_file);
        line_at = 2;
        m_valid = 1'b0;
        m_data  = {IN_W{1'b0}};
        rst     = 1'b1;
        repeat (4) @(negedge clk);
        rst = 1'b0;
        next_line;
        while (line[W +: 4] != END) begin
            case (line[W +: 4])
                SEND:    send;
                EXPECT:  ;
                AWAIT:   while (expected_at < line_at) @(negedge clk);
                default: @(negedge clk);
            endcase
            next_line;
        end
        while (expected_at < line_at) @(negedge clk);
        repeat (20) @(negedge clk);
        if (words == 0) fail;
        $display("%0s: passed, %0d words equal", NAME, words);
        $finish;
    end

    wire _unused = &{1'b0, line, expected, comment};
endmodule

`default_nettype wire
