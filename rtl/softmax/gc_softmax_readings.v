// SPDX-License-Identifier: Apache-2.0
// The order of things in gc_softmax: takes the vectors of three readings, cuts each into slices of SLICE lanes, one per
// cycle, and lets the sums be divided between the second and the third. A vector takes PERIOD + 1 cycles, PERIOD the
// number of slices and at least 8, so that what a slice writes can be read by the same slice of the next vector. In the
// third reading a vector needs its target bits and room for its result. `start` begins a frame; cfg_* are stable.
`default_nettype none

module gc_softmax_readings #(
    parameter LANES = 64,
    parameter DW    = 16,
    parameter SLICE = 4
) (
    input  wire                           clk,
    input  wire                           rst,
    input  wire                           start,
    input  wire [15:0]                    cfg_vectors,   // of a reading
    input  wire [15:0]                    cfg_classes,   // of them that are classes: the first
    input  wire [LANES-1:0]               cfg_kept,      // lanes of an image
    input  wire                           s_valid,
    output wire                           s_ready,
    input  wire [LANES*DW-1:0]            s_data,
    input  wire                           s_gate_valid,
    output wire                           s_gate_ready,
    input  wire [LANES-1:0]               s_gate,
    input  wire                           s_room,
    output wire                           m_promise,     // a vector of the third reading sets out
    output wire                           m_divide,      // pulse: all sums are there
    input  wire                           s_dividing,
    output wire [2:0]                     m_valid,       // a slice, by reading; what fills up only in the third
    output wire                           m_first,       // of the first vector
    output wire                           m_last,        // slice of a vector
    output wire [$clog2(LANES/SLICE)-1:0] m_slice,
    output wire [SLICE*DW-1:0]            m_data,
    output wire [SLICE-1:0]               m_bits,        // target bits
    output wire [SLICE-1:0]               m_kept,
    output wire                           sts_busy       // something is under way
);
    localparam SLICES = LANES/SLICE;
    localparam SW     = $clog2(SLICES);
    localparam PERIOD = SLICES > 8 ? SLICES : 8;
    localparam PW     = $clog2(PERIOD);
    localparam [4:0]  DRAIN = 5'd16;   // cycles until the last sum is written

    reg                open_q, run_q, hold_q, first_q, fill_q;
    reg                free_q;         // open, and neither runs nor holds
    reg [1:0]          reading_q;      // of the next vector
    reg [2:0]          of_q;           // of the one under way
    reg [15:0]         left_q;         // vectors of the reading
    reg [15:0]         classes_q;
    reg [PW-1:0]       at_q;
    reg [4:0]          drain_q;
    reg [LANES*DW-1:0] data_q;
    reg [LANES-1:0]    bits_q, kept_q;

    wire third = reading_q == 2'd2;
    wire take  = s_valid && s_ready;
    wire ends  = left_q == 16'd1;

    assign s_ready      = free_q && (!third || (s_gate_valid && s_room));
    assign s_gate_ready = third && s_valid && free_q && s_room;
    assign m_promise    = take && third;
    assign m_divide     = hold_q && drain_q == 5'd1;
    assign sts_busy     = run_q || hold_q;

    wire slice = run_q && {1'b0, at_q} < SLICES[PW:0];
    assign m_valid = {slice, slice && !fill_q, slice && !fill_q} & of_q;
    assign m_first = first_q;
    assign m_slice = at_q[SW-1:0];
    assign m_last  = &at_q[SW-1:0];
    assign m_data  = data_q[SLICE*DW-1:0];
    assign m_bits  = bits_q[SLICE-1:0];
    assign m_kept  = kept_q[SLICE-1:0];

    always @(posedge clk) begin
        if (take) begin
            data_q  <= s_data;
            bits_q  <= s_gate;
            kept_q  <= cfg_kept & {LANES{|classes_q}};
            fill_q  <= ~(|classes_q);
            of_q    <= 3'd1 << reading_q;
            first_q <= left_q == cfg_vectors;
        end else begin
            data_q <= data_q >> SLICE*DW;
            bits_q <= bits_q >> SLICE;
            kept_q <= kept_q >> SLICE;
        end
    end

    always @(posedge clk) begin
        at_q <= take ? {PW{1'b0}} : at_q + {{(PW-1){1'b0}}, 1'b1};
        if (take)       run_q <= 1'b1;
        else if (&at_q) run_q <= 1'b0;
        if (start || (take && ends)) begin
            left_q    <= cfg_vectors;
            classes_q <= cfg_classes;
        end else if (take) begin
            left_q    <= left_q - 16'd1;
            classes_q <= classes_q - {15'd0, |classes_q};
        end
        free_q <= !take && (start || open_q) && (!run_q || (&at_q))
               && (!hold_q || (!run_q && drain_q == 5'd0 && !s_dividing));
        if (start)             reading_q <= 2'd0;
        else if (take && ends) reading_q <= reading_q + 2'd1;
        if (start)                      open_q <= 1'b1;
        else if (take && ends && third) open_q <= 1'b0;
        if (take && ends && reading_q == 2'd1)              hold_q <= 1'b1;
        else if (!run_q && drain_q == 5'd0 && !s_dividing)  hold_q <= 1'b0;
        if (run_q)             drain_q <= DRAIN;
        else if (drain_q != 5'd0) drain_q <= drain_q - 5'd1;
        if (rst) begin
            open_q <= 1'b0;
            free_q <= 1'b0;
            run_q  <= 1'b0;
            hold_q <= 1'b0;
        end
    end
endmodule

`default_nettype wire
