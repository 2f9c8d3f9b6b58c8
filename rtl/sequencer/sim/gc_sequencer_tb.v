// SPDX-License-Identifier: Apache-2.0
// Programs through gc_dispatch: an instruction is a nest of three loops, which gc_loop_nest walks through in the name
// of one of two engines. Its steps come back, after each program its state.
`default_nettype none

module gc_sequencer_tb;
    wire        clk, rst, valid, ready, start, s_ready, last, error, finished;
    wire [27:0] instruction, given;
    wire [1:0]  engine;
    wire [2:0]  advance, restart, at_first, at_last;
    wire [7:0]  code;
    wire [23:0] counts, place, number;
    reg  [23:0] counts_q;
    reg         engine_q, walking_q, program_q;
    wire        over = finished && program_q && !walking_q;

    gc_tb_player #(.NAME("gc_sequencer_tb"), .IN_W(29), .OUT_W(34), .STALLS(1)) u_player (
        .clk(clk), .rst(rst), .m_valid(valid), .m_ready(start || ready), .m_data({start, instruction}),
        .s_valid(walking_q || over), .s_ready(s_ready),
        .s_data(over ? {1'b1, 1'b0, code, number} : {1'b0, engine_q, 8'd0, place})
    );
    gc_dispatch #(.INSTR_W(28), .ENGINES(2)) u_dispatch (
        .clk(clk), .rst(rst), .cfg_length(instruction[23:0]), .start(valid && start), .s_valid(valid && !start),
        .s_ready(ready), .s_instruction(instruction), .s_bad(1'b0), .m_valid(engine), .m_ready({2{!walking_q}}),
        .m_instruction(given), .sts_finished(finished), .sts_error(error), .sts_code(code), .sts_index(number)
    );
    gc_loop_nest #(.LEVELS(3), .W(8)) u_nest (
        .clk(clk), .cfg_count(walking_q ? counts_q : counts), .s_single(3'd0), .s_two(3'd0),
        .start(!walking_q), .step(walking_q && s_ready),
        .advance(advance), .restart(restart), .at_first(at_first), .at_last(at_last), .last(last), .index(place)
    );

    assign counts = given[27:4];

    always @(posedge clk) begin
        if (!walking_q) begin
            walking_q <= |engine;
            engine_q  <= engine[1];
            counts_q  <= counts;
        end else if (s_ready && last) walking_q <= 1'b0;
        if (valid && start) program_q <= 1'b1;
        else if (over && s_ready) program_q <= 1'b0;
        if (rst) begin
            walking_q <= 1'b0;
            program_q <= 1'b0;
        end
    end

    wire _unused = &{1'b0, error, given[3:0], advance, restart, at_first, at_last};
endmodule

`default_nettype wire
