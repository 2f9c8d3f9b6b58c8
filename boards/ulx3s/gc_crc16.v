// SPDX-License-Identifier: Apache-2.0
// The CRC of 16 bits with the polynomial x^16 + x^12 + x^5 + 1 (CRC-CCITT, ITU-T V.41), one byte further, highest bit
// first; as Python's binascii.crc_hqx. Logic alone. Behind a message and its CRC, the high byte first, it is 0.
`default_nettype none

module gc_crc16 (
    input  wire [15:0] s_crc,
    input  wire [7:0]  s_data,
    output wire [15:0] m_crc
);
    localparam [15:0] POLYNOMIAL = 16'h1021;

    wire [9*16-1:0] step;
    assign step[15:0] = s_crc ^ {s_data, 8'd0};
    assign m_crc      = step[8*16 +: 16];

    genvar b;
    generate
        for (b = 0; b < 8; b = b + 1) begin : g_bit
            assign step[16*(b+1) +: 16] = {step[16*b +: 15], 1'b0} ^ (step[16*b+15] ? POLYNOMIAL : 16'd0);
        end
    endgenerate
endmodule

`default_nettype wire
