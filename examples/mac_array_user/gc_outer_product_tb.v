// SPDX-License-Identifier: Apache-2.0
// Frames of random and of extreme samples, some with gaps, against sums made here. $fatal on the first difference, so
// that the simulator's exit code tells.
`default_nettype none

module gc_outer_product_tb;
    localparam DW = 12;
    localparam SUM_W = 32;

    reg clk;
    reg rst = 1'b1;
    reg valid = 1'b0;
    reg first = 1'b0;
    reg last = 1'b0;
    reg [16*DW-1:0] a = {16*DW{1'b0}};
    reg [16*DW-1:0] b = {16*DW{1'b0}};
    wire m_valid;
    wire m_last;
    wire [3:0] m_index;
    wire [16*SUM_W-1:0] m_sums;

    initial begin
        clk = 1'b0;
        forever #5 clk = ~clk;
    end

    gc_outer_product #(.DW(DW), .SUM_W(SUM_W)) u_dut (
        .clk(clk), .rst(rst), .s_valid(valid), .s_first(first), .s_last(last), .s_a(a), .s_b(b),
        .m_valid(m_valid), .m_last(m_last), .m_index(m_index), .m_sums(m_sums)
    );

    reg signed [SUM_W-1:0] expected [0:255];
    integer columns;
    integer u;
    integer v;
    wire _unused = &{1'b0, u, v};    // the high bits of random numbers

    task check(input integer column);
        integer lane;
        for (lane = 0; lane < 16; lane = lane + 1)
            if (m_sums[lane*SUM_W +: SUM_W] !== expected[16*column + lane]) begin
                $display("a%0d * b%0d: %h, expected %h", lane, column,
                             m_sums[lane*SUM_W +: SUM_W], expected[16*column + lane]);
                $fatal;
            end
    endtask

    initial forever begin
        @(negedge clk);
        if (m_valid) begin
            if (m_index !== columns[3:0] || m_last !== (columns == 15)) begin
                $display("column %0d (last %b), expected %0d", m_index, m_last, columns);
                $fatal;
            end
            check(columns);
            columns = columns + 1;
        end
    end

    task frame(input integer samples, input integer kind);
        integer n;
        integer i;
        integer j;
        reg signed [DW-1:0] x;
        reg signed [DW-1:0] y;
        begin
            for (i = 0; i < 256; i = i + 1) expected[i] = 0;
            for (n = 0; n < samples; n = n + 1) begin
                @(negedge clk);
                for (i = 0; i < 16; i = i + 1) begin
                    u = $random;
                    v = $random;
                    a[i*DW +: DW] = (kind == 1) ? {1'b1, {(DW-1){1'b0}}} : u[DW-1:0];
                    b[i*DW +: DW] = (kind == 1) ? {i[0], {(DW-1){~i[0]}}} : v[DW-1:0];
                end
                for (j = 0; j < 16; j = j + 1)
                    for (i = 0; i < 16; i = i + 1) begin
                        x = $signed(a[i*DW +: DW]);
                        y = $signed(b[j*DW +: DW]);
                        expected[16*j + i] = expected[16*j + i] + x * y;
                    end
                valid = 1'b1;
                first = n == 0;
                last  = n == samples - 1;
                if (kind == 2) @(negedge clk) valid = 1'b0;
            end
            @(negedge clk) valid = 1'b0;
            columns = 0;
            repeat (25) @(negedge clk);
            if (columns != 16) begin
                $display("%0d columns, expected 16", columns);
                $fatal;
            end
        end
    endtask

    initial begin
        repeat (3) @(negedge clk);
        rst = 1'b0;
        frame(1, 0);
        frame(50, 0);
        frame(20, 1);
        frame(20, 2);
        frame(1, 1);
        $display("outer_product: passed");
        $finish;
    end
endmodule

`default_nettype wire
