// SPDX-License-Identifier: Apache-2.0
// 2x2 max pooling inside a folded vector, with the one-hot index of every window's maximum (the first in raster
// order among equals) and the placement of the results: window (i, j) of fold a sits at lanes (2i, 2j).. and its
// result goes to the lane whose row and column are i and j with a zero inserted as bit a-1. One vector per cycle, 3
// cycles latency, free running; all inputs belong to the word they come with. With s_pool low everything passes
// unchanged. Bit-exact with gradcore.ops.max_pooling.max_pool.
`default_nettype none

module gc_pool2x2 #(
    parameter GRID = 8,  // 4 or 8
    parameter DW   = 16  // bits of an element
) (
    input  wire                    clk,
    input  wire                    rst,
    input  wire                    s_valid,
    input  wire                    s_pool,
    input  wire [1:0]              s_fold,    // of the vector that comes in, 1..log2 GRID when s_pool
    input  wire [GRID*GRID-1:0]    s_in_map,  // lane is inside the map
    input  wire [GRID*GRID-1:0]    s_gate,    // lane passes the local gradient
    input  wire [GRID*GRID*DW-1:0] s_data,    // signed
    output wire                    m_valid,
    output wire [GRID*GRID*DW-1:0] m_data,    // signed; any value in lanes that are not enabled
    output wire [GRID*GRID-1:0]    m_enable,  // lane holds a result inside the map
    output wire [GRID*GRID-1:0]    m_gate     // in the lanes of s_gate, zero outside complete windows
);
    localparam HALF  = GRID / 2;
    localparam LANES = GRID * GRID;
    localparam LOG   = GRID == 8 ? 3 : 2;

    generate
        if (GRID != 4 && GRID != 8) begin : g_illegal_grid
            gradcore_illegal_parameter_GRID_not_4_or_8 u_stop ();
        end
    endgenerate

    reg [2:0] valid_q;
    reg       pool1_q;
    reg       pool2_q;
    reg [1:0] fold1_q;
    reg [1:0] fold2_q;

    always @(posedge clk) if (s_valid) begin
        pool1_q <= s_pool;
        fold1_q <= s_fold;
    end

    always @(posedge clk) if (valid_q[0]) begin
        pool2_q <= pool1_q;
        fold2_q <= fold1_q;
    end

    // Windows are the same lanes in every fold. Stages 1 and 2 leave a window's maximum in its top left lane.
    wire [DW-1:0]    word [0:LANES-1];  // of stage 2
    wire [LANES-1:0] in_map;
    wire [LANES-1:0] gate;

    genvar r, c;
    generate
        for (r = 0; r < HALF; r = r + 1) begin : g_window_row
            for (c = 0; c < HALF; c = c + 1) begin : g_window
                localparam L = 2 * r * GRID + 2 * c;

                gc_pool2x2_window #(.DW(DW)) u_window (
                    .clk      (clk),
                    .s_step   ({valid_q[0], s_valid}),
                    .s_pool   (s_pool),
                    .s_in_map ({s_in_map[L+GRID+1], s_in_map[L+GRID], s_in_map[L+1], s_in_map[L]}),
                    .s_gate   ({s_gate[L+GRID+1], s_gate[L+GRID], s_gate[L+1], s_gate[L]}),
                    .s_tl     (s_data[L*DW +: DW]),
                    .s_tr     (s_data[(L+1)*DW +: DW]),
                    .s_bl     (s_data[(L+GRID)*DW +: DW]),
                    .s_br     (s_data[(L+GRID+1)*DW +: DW]),
                    .s1_pool  (pool1_q),
                    .m_in_map ({in_map[L+GRID+1], in_map[L+GRID], in_map[L+1], in_map[L]}),
                    .m_gate   ({gate[L+GRID+1], gate[L+GRID], gate[L+1], gate[L]}),
                    .m_tl     (word[L]),
                    .m_tr     (word[L+1]),
                    .m_bl     (word[L+GRID]),
                    .m_br     (word[L+GRID+1])
                );
            end
        end
    endgenerate

    // Stage 3. Bit a-1 of a result's row and column is zero; dropping it gives the window, whose lane is twice that.
    wire [LOG:1] to_fold;  // bit a: results of fold a are placed

    reg [LANES-1:0] gate_q;

    always @(posedge clk) if (valid_q[1]) gate_q <= gate;

    assign m_gate = gate_q;

    genvar a;
    generate
        for (a = 1; a <= LOG; a = a + 1) begin : g_fold
            assign to_fold[a] = pool2_q & fold2_q == a;
        end

        for (r = 0; r < GRID; r = r + 1) begin : g_row
            for (c = 0; c < GRID; c = c + 1) begin : g_lane
                // Lane (r, c) can hold a result of fold a only if bit a-1 of r and of c is zero.
                localparam OWN = r * GRID + c;
                localparam LOW = ((r | c) & 1) == 0;
                localparam MID = ((r | c) & 2) == 0;
                localparam TOP = ((r | c) & 4) == 0;

                localparam MID_R = ((r >> 2) << 2) | ((r & 1) << 1);
                localparam MID_C = ((c >> 2) << 2) | ((c & 1) << 1);
                localparam MID_L = MID ? MID_R * GRID + MID_C : OWN;
                localparam TOP_L = TOP && GRID == 8 ? ((r & 3) << 1) * GRID + ((c & 3) << 1) : OWN;

                wire to_mid = to_fold[2] & MID;
                wire to_top = LOG == 3 ? to_fold[LOG] & TOP : 1'b0;
                wire to_own = to_fold[1] & LOW | ~pool2_q;

                reg [DW-1:0] data_q;
                reg          enable_q;

                always @(posedge clk) if (valid_q[1]) begin
                    data_q   <= to_top ? word[TOP_L] : to_mid ? word[MID_L] : word[OWN];
                    enable_q <= to_top & in_map[TOP_L] | to_mid & in_map[MID_L] | to_own & in_map[OWN];
                end

                assign m_data[OWN*DW +: DW] = data_q;
                assign m_enable[OWN] = enable_q;
            end
        end
    endgenerate

    assign m_valid = valid_q[2];

    always @(posedge clk) begin
        valid_q <= {valid_q[1:0], s_valid};
        if (rst) valid_q <= 3'b0;
    end
endmodule

`default_nettype wire
