// SPDX-License-Identifier: Apache-2.0
// Random numbers of the words of the result, WORDS of them for each s_step: those of cfg_tag, for the rounding, with 17
// cycles latency, those of cfg_keep_tag, for dropout, with 15. Counts what comes, in the order of gc_window_walker: a
// beat is PARTS steps, a pixel cfg_n_beats beats of vectors of GRID * GRID words, numbered as the maps; pixels are
// blocks of 2^cfg_fold rows and columns, cfg_n_x of them side by side, taken in parts of 64 beats. `start` begins at
// the first one. Rows and columns count modulo 2^12. Bit-exact with gradcore.machine.vector.
`default_nettype none

module gc_vector_random #(
    parameter GRID  = 8,    // 4 or 8
    parameter WORDS = 16,   // 4, 8 or 16
    parameter PARTS = 2     // power of two
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                start,
    input  wire [31:0]         cfg_seed,
    input  wire [15:0]         cfg_tag,
    input  wire [15:0]         cfg_keep_tag,
    input  wire [15:0]         cfg_image,     // first image of the group
    input  wire [1:0]          cfg_fold,
    input  wire [15:0]         cfg_n_beats,
    input  wire [15:0]         cfg_n_x,
    input  wire                s_step,
    output wire [WORDS*16-1:0] m_rnd,
    output wire [WORDS*16-1:0] m_keep_rnd
);
    localparam COLS   = WORDS < GRID ? WORDS : GRID;    // of a lane row that a step has
    localparam ROWS   = WORDS/COLS;
    localparam ACROSS = $clog2(GRID/COLS);              // bits of the step that say the column
    localparam STEPS  = GRID*GRID/WORDS;                // of a vector
    localparam SW     = $clog2(STEPS) + 1;
    localparam PW     = $clog2(PARTS) + 1;
    localparam BEHIND = 2;                              // cycles that the numbers have to spare
    localparam [15:0] MOST = 16'd64;                    // beats of a part
    localparam MAPS = 64*PARTS/STEPS;                   // of a part
    localparam LAST_STEP = STEPS - 1, LAST_PART = PARTS - 1, LAST_COL = GRID/COLS - 1;

    // ---- Where the next step is
    reg  [PW-1:0] part_q;
    reg  [SW-1:0] step_q;
    reg  [17:0]   map_q;
    reg  [17:0]   first_q;      // map that the part begins with
    reg  [15:0]   beats_q;      // of the part of the pixel from this one on
    reg  [15:0]   size_q;       // beats of the part of a pixel
    reg  [15:0]   rest_q;       // beats of a pixel from the part on
    reg           last_q;       // it has no further part
    reg  [15:0]   left_q;       // pixels of the row from this one on
    reg  [11:0]   x_q;
    reg  [11:0]   y_q;
    wire          go;
    wire          beat   = part_q == LAST_PART[PW-1:0];
    wire          vector = step_q == LAST_STEP[SW-1:0];
    wire          pixel  = beat && beats_q == 16'd1;
    wire          part   = pixel && left_q == 16'd1;
    wire          line   = part && last_q;
    // What the part behind this one is: one that is not the last lasts long enough.
    reg  [15:0]   all_size_q, next_size_q, next_rest_q, size;
    reg           all_last_q, next_last_q;
    always @* begin
        size = size_q;
        if (part) size = last_q ? all_size_q : next_size_q;
    end
    gc_delay_line #(.W(1), .CYCLES(BEHIND)) u_go (.clk(clk), .clear(rst), .s_data(s_step), .m_data(go));
    always @(posedge clk) begin
        all_last_q  <= cfg_n_beats <= MOST;
        all_size_q  <= cfg_n_beats <= MOST ? cfg_n_beats : MOST;
        next_rest_q <= rest_q - MOST;
        next_last_q <= next_rest_q <= MOST;
        next_size_q <= next_rest_q <= MOST ? next_rest_q : MOST;
        if (start) begin
            part_q  <= {PW{1'b0}};
            step_q  <= {SW{1'b0}};
            map_q   <= 18'd0;
            first_q <= 18'd0;
            beats_q <= all_size_q;
            size_q  <= all_size_q;
            rest_q  <= cfg_n_beats;
            last_q  <= all_last_q;
            left_q  <= cfg_n_x;
            x_q     <= 12'd0;
            y_q     <= 12'd0;
        end else if (go) begin
            part_q <= beat ? {PW{1'b0}} : part_q + {{(PW-1){1'b0}}, 1'b1};
            step_q <= pixel || vector ? {SW{1'b0}} : step_q + {{(SW-1){1'b0}}, 1'b1};
            if (line)        map_q <= 18'd0;
            else if (part)   map_q <= first_q + MAPS[17:0];
            else if (pixel)  map_q <= first_q;
            else if (vector) map_q <= map_q + 18'd1;
            if (line)      first_q <= 18'd0;
            else if (part) first_q <= first_q + MAPS[17:0];
            if (pixel)     beats_q <= size;
            else if (beat) beats_q <= beats_q - 16'd1;
            size_q <= size;
            if (line)      rest_q <= cfg_n_beats;
            else if (part) rest_q <= next_rest_q;
            if (part) last_q <= last_q ? all_last_q : next_last_q;
            if (part)       left_q <= cfg_n_x;
            else if (pixel) left_q <= left_q - 16'd1;
            if (part)       x_q <= 12'd0;
            else if (pixel) x_q <= x_q + 12'd1;
            if (line) y_q <= y_q + 12'd1;
        end
    end

    // ---- The coordinates of its vector, then those of its rows and columns
    wire               vector_valid;
    wire [GRID*32-1:0] vector_i, vector_j;
    gc_fold_coordinates #(.GRID(GRID)) u_coordinates (
        .clk(clk), .rst(rst), .s_valid(go), .s_y0(y_q << cfg_fold), .s_x0(x_q << cfg_fold), .s_fold(cfg_fold),
        .s_image(cfg_image), .m_valid(vector_valid), .m_i(vector_i), .m_j(vector_j)
    );
    reg  [5:0]         lanes_q;
    reg                part_valid_q;
    reg  [17:0]        vector_map_q;
    reg  [17:0]        part_map_q;
    reg  [ROWS*32-1:0] part_i_q;
    reg  [COLS*32-1:0] part_j_q;
    wire [5:0]         row    = lanes_q >> ACROSS;
    wire [5:0]         column = lanes_q & LAST_COL[5:0];
    always @(posedge clk) begin
        lanes_q      <= {{(6-SW){1'b0}}, step_q};
        vector_map_q <= map_q;
        part_map_q   <= vector_map_q;
        part_valid_q <= vector_valid && !rst;
        part_i_q     <= vector_i[row*(ROWS*32) +: ROWS*32];
        part_j_q     <= vector_j[column*(COLS*32) +: COLS*32];
    end

    wire                valid_unused, keep_valid_unused;
    wire [WORDS*16-1:0] rnd;
    gc_position_random #(.GRID(GRID), .ROWS(ROWS), .COLS(COLS)) u_random (
        .clk(clk), .rst(rst), .s_valid(part_valid_q), .s_seed(cfg_seed), .s_tag(cfg_tag),
        .s_k({14'd0, part_map_q}), .s_i(part_i_q), .s_j(part_j_q), .m_valid(valid_unused), .m_rnd(rnd)
    );
    gc_position_random #(.GRID(GRID), .ROWS(ROWS), .COLS(COLS)) u_keep_random (
        .clk(clk), .rst(rst), .s_valid(part_valid_q), .s_seed(cfg_seed), .s_tag(cfg_keep_tag),
        .s_k({14'd0, part_map_q}), .s_i(part_i_q), .s_j(part_j_q), .m_valid(keep_valid_unused), .m_rnd(m_keep_rnd)
    );
    gc_delay_line #(.W(WORDS*16), .CYCLES(2), .CLEAR(0)) u_rnd (
        .clk(clk), .clear(1'b0), .s_data(rnd), .m_data(m_rnd)
    );

    wire _unused = &{1'b0, valid_unused, keep_valid_unused};
endmodule

`default_nettype wire
