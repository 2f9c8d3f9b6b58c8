// SPDX-License-Identifier: Apache-2.0
// Smoke test of the engine without Python, for the FuseSoC target sim: reads the ID, runs a program that is one END instruction from a memory
// that answers after a few cycles, waits for the interrupt and looks at STATUS, then runs an unknown opcode and looks at ERROR. Ends with $fatal, so
// that the simulator's exit code tells, on any difference.
`default_nettype none

module gc_engine_smoke;
    localparam ADDR_W = 48;
    localparam MEM_W  = 128;

    reg         clk = 1'b0;
    reg         rst = 1'b1;
    reg         reg_write = 1'b0;
    reg  [11:0] reg_addr  = 12'd0;
    reg  [31:0] reg_wdata = 32'd0;
    reg         reg_read  = 1'b0;
    wire [31:0] reg_rdata;
    wire        rreq_valid;
    wire [7:0]  rreq_len;
    reg         rdat_valid = 1'b0;
    reg         rdat_last  = 1'b0;
    reg  [3:0]  opcode     = 4'd0;
    reg  [8:0]  beats_left = 9'd0;
    wire        irq;

    always #5 clk = ~clk;

    gc_engine #(.GRID(4), .COLS(4), .MEM_W(MEM_W), .ADDR_W(ADDR_W), .ACT_DEPTH(64), .WGT_DEPTH(64), .GRAD_DEPTH(64), .GATE_DEPTH(64)) u_engine (
        .clk(clk), .rst(rst), .s_reg_write(reg_write), .s_reg_addr(reg_addr), .s_reg_wdata(reg_wdata), .s_reg_strb(4'hf), .s_reg_read(reg_read), .m_reg_rdata(reg_rdata),
        .m_rreq_valid(rreq_valid), .m_rreq_ready(beats_left == 9'd0), .m_rreq_addr(), .m_rreq_len(rreq_len),
        .s_rdat_valid(rdat_valid), .s_rdat_data({{(MEM_W-4){1'b0}}, opcode}), .s_rdat_last(rdat_last), .s_rdat_resp(2'b00),
        .m_wreq_valid(), .m_wreq_ready(1'b1), .m_wreq_addr(), .m_wreq_len(), .m_wdat_valid(), .m_wdat_ready(1'b1), .m_wdat_data(), .m_wdat_strb(),
        .m_wdat_last(), .s_wrsp_valid(1'b0), .s_wrsp_resp(2'b00), .m_forget(), .irq(irq), .sts_active(), .sts_tag()
    );

    // Memory: every beat has the opcode in its lowest bits, which counts in an instruction's first beat.
    always @(posedge clk) begin
        rdat_valid <= beats_left != 9'd0;
        rdat_last  <= beats_left == 9'd1;
        if (beats_left != 9'd0) beats_left <= beats_left - 9'd1;
        else if (rreq_valid)    beats_left <= {1'b0, rreq_len} + 9'd1;
    end

    task write(input [11:0] addr, input [31:0] data);
        begin
            @(negedge clk) reg_write = 1'b1; reg_addr = addr; reg_wdata = data;
            @(negedge clk) reg_write = 1'b0;
        end
    endtask

    task expect_read(input [11:0] addr, input [31:0] data);
        begin
            @(negedge clk) reg_read = 1'b1; reg_addr = addr;
            @(negedge clk) reg_read = 1'b0;
            if (reg_rdata !== data) begin
                $display("register %h is %h, expected %h", addr, reg_rdata, data);
                $fatal;
            end
        end
    endtask

    task run(input [3:0] code);
        integer limit;
        begin
            opcode = code;
            write(12'h010, 32'd1);
            limit = 0;
            while (!irq && limit < 1000) begin
                @(negedge clk) limit = limit + 1;
            end
            if (!irq) begin
                $display("no interrupt");
                $fatal;
            end
        end
    endtask

    initial begin
        repeat (4) @(negedge clk);
        rst = 1'b0;
        expect_read(12'h000, 32'h47524144);
        write(12'h018, 32'd3);
        write(12'h080, 32'd1);    // window 0: read the first page
        write(12'h084, 32'd0);
        write(12'h088, 32'h1000);
        write(12'h08c, 32'd0);
        write(12'h020, 32'd0);
        write(12'h024, 32'd0);
        write(12'h02c, 32'd1);
        run(4'd0);
        expect_read(12'h014, 32'd2);
        run(4'd9);
        expect_read(12'h014, 32'd4);
        expect_read(12'h01c, 32'd1);
        $display("engine_smoke: passed");
        $finish;
    end
endmodule

`default_nettype wire
