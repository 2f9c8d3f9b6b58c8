// SPDX-License-Identifier: Apache-2.0
// Lets the training system run and compares every word of weights, biases and momenta that it leaves in the RAM with
// expected.hex. $fatal on any difference, so that the simulator's exit code tells.
`default_nettype none

module gc_training_system_tb;
    localparam MOST   = 4096;         // words in expected.hex
    localparam CYCLES = 1000000;      // the watchdog of the engine comes long before

    reg         clk;
    reg         aresetn = 1'b0;
    wire [15:0] at;
    wire        done;
    wire        failed;
    initial begin
        clk = 1'b0;
        forever #5 clk = ~clk;
    end

    gc_training_system u_system (.aclk(clk), .aresetn(aresetn), .at(at), .done(done), .failed(failed));

    reg [47:0] expected [0:MOST-1];   // byte address, 16-bit word
    reg [31:0] address;
    reg [63:0] beat;
    reg [15:0] word;
    integer    n;
    integer    cycles;

    initial begin
        for (n = 0; n < MOST; n = n + 1) expected[n] = {48{1'b1}};
        $readmemh("expected.hex", expected);
        repeat (4) @(negedge clk);
        aresetn = 1'b1;
        cycles  = 0;
        while (!done && !failed && cycles < CYCLES) begin
            @(negedge clk) cycles = cycles + 1;
        end
        if (!done) begin
            $display("training_system: command %0d (%h) of commands.hex %0s",
                     at, u_system.u_player.word_q, failed ? "failed" : "hangs");
            $fatal;
        end
        n = 0;
        while (n < MOST && expected[n] != {48{1'b1}}) begin
            address = expected[n][47:16];
            beat    = u_system.u_ram.mem[address[15:3]];
            word    = beat[16*address[2:1] +: 16];
            if (word !== expected[n][15:0]) begin
                $display("training_system: word at %h is %h, expected %h", address, word, expected[n][15:0]);
                $fatal;
            end
            n = n + 1;
        end
        if (n == 0) $fatal;
        $display("training_system: passed, %0d commands, %0d words equal, %0d cycles", at, n, cycles);
        $finish;
    end
endmodule

`default_nettype wire
