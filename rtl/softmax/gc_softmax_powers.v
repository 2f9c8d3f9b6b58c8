// SPDX-License-Identifier: Apache-2.0
// Written by ci/vectors. 2^-x of 17 fraction bits, x in steps of 2^-8 and of 2^-16 below 2^-8, a cycle later:
// gradcore.ops.softmax.COARSE and FINE.
`default_nettype none

module gc_softmax_powers (
    input  wire        clk,
    input  wire [7:0]  s_coarse,
    input  wire [7:0]  s_fine,
    output wire [17:0] m_coarse,
    output wire [17:0] m_fine
);
    localparam [4607:0] COARSE = {
        18'h100b2, 18'h10164, 18'h10217, 18'h102ca, 18'h1037d, 18'h10431, 18'h104e6, 18'h1059b, 18'h10651, 18'h10707,
        18'h107bd, 18'h10874, 18'h1092c, 18'h109e4, 18'h10a9c, 18'h10b56, 18'h10c0f, 18'h10cc9, 18'h10d84, 18'h10e3f,
        18'h10efa, 18'h10fb6, 18'h11073, 18'h11130, 18'h111ee, 18'h112ac, 18'h1136b, 18'h1142a, 18'h114e9, 18'h115aa,
        18'h1166a, 18'h1172c, 18'h117ed, 18'h118b0, 18'h11972, 18'h11a36, 18'h11afa, 18'h11bbe, 18'h11c83, 18'h11d48,
        18'h11e0e, 18'h11ed5, 18'h11f9c, 18'h12064, 18'h1212c, 18'h121f5, 18'h122be, 18'h12388, 18'h12452, 18'h1251d,
        18'h125e8, 18'h126b4, 18'h12781, 18'h1284e, 18'h1291c, 18'h129ea, 18'h12ab9, 18'h12b88, 18'h12c58, 18'h12d28,
        18'h12df9, 18'h12ecb, 18'h12f9d, 18'h13070, 18'h13143, 18'h13217, 18'h132ec, 18'h133c1, 18'h13496, 18'h1356c,
        18'h13643, 18'h1371a, 18'h137f2, 18'h138cb, 18'h139a4, 18'h13a7e, 18'h13b58, 18'h13c33, 18'h13d0e, 18'h13dea,
        18'h13ec7, 18'h13fa4, 18'h14082, 18'h14161, 18'h14240, 18'h1431f, 18'h14400, 18'h144e1, 18'h145c2, 18'h146a4,
        18'h14787, 18'h1486a, 18'h1494e, 18'h14a33, 18'h14b18, 18'h14bfe, 18'h14ce4, 18'h14dcb, 18'h14eb3, 18'h14f9b,
        18'h15084, 18'h1516e, 18'h15258, 18'h15343, 18'h1542e, 18'h1551a, 18'h15607, 18'h156f4, 18'h157e2, 18'h158d1,
        18'h159c1, 18'h15ab0, 18'h15ba1, 18'h15c92, 18'h15d84, 18'h15e77, 18'h15f6a, 18'h1605e, 18'h16153, 18'h16248,
        18'h1633e, 18'h16434, 18'h1652c, 18'h16624, 18'h1671c, 18'h16815, 18'h1690f, 18'h16a0a, 18'h16b05, 18'h16c01,
        18'h16cfe, 18'h16dfb, 18'h16ef9, 18'h16ff8, 18'h170f7, 18'h171f7, 18'h172f8, 18'h173fa, 18'h174fc, 18'h175ff,
        18'h17702, 18'h17807, 18'h1790c, 18'h17a11, 18'h17b18, 18'h17c1f, 18'h17d27, 18'h17e2f, 18'h17f38, 18'h18042,
        18'h1814d, 18'h18259, 18'h18365, 18'h18472, 18'h1857f, 18'h1868e, 18'h1879d, 18'h188ac, 18'h189bd, 18'h18ace,
        18'h18be0, 18'h18cf3, 18'h18e07, 18'h18f1b, 18'h19030, 18'h19146, 18'h1925c, 18'h19373, 18'h1948c, 18'h195a4,
        18'h196be, 18'h197d8, 18'h198f3, 18'h19a0f, 18'h19b2c, 18'h19c49, 18'h19d67, 18'h19e86, 18'h19fa6, 18'h1a0c6,
        18'h1a1e8, 18'h1a30a, 18'h1a42d, 18'h1a550, 18'h1a675, 18'h1a79a, 18'h1a8c0, 18'h1a9e7, 18'h1ab0e, 18'h1ac37,
        18'h1ad60, 18'h1ae8a, 18'h1afb5, 18'h1b0e0, 18'h1b20d, 18'h1b33a, 18'h1b468, 18'h1b597, 18'h1b6c7, 18'h1b7f7,
        18'h1b929, 18'h1ba5b, 18'h1bb8e, 18'h1bcc2, 18'h1bdf7, 18'h1bf2c, 18'h1c063, 18'h1c19a, 18'h1c2d2, 18'h1c40b,
        18'h1c544, 18'h1c67f, 18'h1c7bb, 18'h1c8f7, 18'h1ca34, 18'h1cb72, 18'h1ccb1, 18'h1cdf1, 18'h1cf31, 18'h1d073,
        18'h1d1b5, 18'h1d2f8, 18'h1d43d, 18'h1d582, 18'h1d6c7, 18'h1d80e, 18'h1d956, 18'h1da9e, 18'h1dbe8, 18'h1dd32,
        18'h1de7d, 18'h1dfc9, 18'h1e116, 18'h1e264, 18'h1e3b3, 18'h1e503, 18'h1e654, 18'h1e7a5, 18'h1e8f8, 18'h1ea4b,
        18'h1eb9f, 18'h1ecf5, 18'h1ee4b, 18'h1efa2, 18'h1f0fa, 18'h1f253, 18'h1f3ad, 18'h1f507, 18'h1f663, 18'h1f7c0,
        18'h1f91e, 18'h1fa7c, 18'h1fbdc, 18'h1fd3c, 18'h1fe9e, 18'h20000
    };
    localparam [4607:0] FINE = {
        18'h1fe9f, 18'h1fea0, 18'h1fea2, 18'h1fea3, 18'h1fea5, 18'h1fea6, 18'h1fea7, 18'h1fea9, 18'h1feaa, 18'h1feab,
        18'h1fead, 18'h1feae, 18'h1feb0, 18'h1feb1, 18'h1feb2, 18'h1feb4, 18'h1feb5, 18'h1feb6, 18'h1feb8, 18'h1feb9,
        18'h1febb, 18'h1febc, 18'h1febd, 18'h1febf, 18'h1fec0, 18'h1fec2, 18'h1fec3, 18'h1fec4, 18'h1fec6, 18'h1fec7,
        18'h1fec8, 18'h1feca, 18'h1fecb, 18'h1fecd, 18'h1fece, 18'h1fecf, 18'h1fed1, 18'h1fed2, 18'h1fed4, 18'h1fed5,
        18'h1fed6, 18'h1fed8, 18'h1fed9, 18'h1feda, 18'h1fedc, 18'h1fedd, 18'h1fedf, 18'h1fee0, 18'h1fee1, 18'h1fee3,
        18'h1fee4, 18'h1fee6, 18'h1fee7, 18'h1fee8, 18'h1feea, 18'h1feeb, 18'h1feec, 18'h1feee, 18'h1feef, 18'h1fef1,
        18'h1fef2, 18'h1fef3, 18'h1fef5, 18'h1fef6, 18'h1fef7, 18'h1fef9, 18'h1fefa, 18'h1fefc, 18'h1fefd, 18'h1fefe,
        18'h1ff00, 18'h1ff01, 18'h1ff03, 18'h1ff04, 18'h1ff05, 18'h1ff07, 18'h1ff08, 18'h1ff09, 18'h1ff0b, 18'h1ff0c,
        18'h1ff0e, 18'h1ff0f, 18'h1ff10, 18'h1ff12, 18'h1ff13, 18'h1ff15, 18'h1ff16, 18'h1ff17, 18'h1ff19, 18'h1ff1a,
        18'h1ff1b, 18'h1ff1d, 18'h1ff1e, 18'h1ff20, 18'h1ff21, 18'h1ff22, 18'h1ff24, 18'h1ff25, 18'h1ff27, 18'h1ff28,
        18'h1ff29, 18'h1ff2b, 18'h1ff2c, 18'h1ff2d, 18'h1ff2f, 18'h1ff30, 18'h1ff32, 18'h1ff33, 18'h1ff34, 18'h1ff36,
        18'h1ff37, 18'h1ff39, 18'h1ff3a, 18'h1ff3b, 18'h1ff3d, 18'h1ff3e, 18'h1ff3f, 18'h1ff41, 18'h1ff42, 18'h1ff44,
        18'h1ff45, 18'h1ff46, 18'h1ff48, 18'h1ff49, 18'h1ff4b, 18'h1ff4c, 18'h1ff4d, 18'h1ff4f, 18'h1ff50, 18'h1ff51,
        18'h1ff53, 18'h1ff54, 18'h1ff56, 18'h1ff57, 18'h1ff58, 18'h1ff5a, 18'h1ff5b, 18'h1ff5d, 18'h1ff5e, 18'h1ff5f,
        18'h1ff61, 18'h1ff62, 18'h1ff63, 18'h1ff65, 18'h1ff66, 18'h1ff68, 18'h1ff69, 18'h1ff6a, 18'h1ff6c, 18'h1ff6d,
        18'h1ff6f, 18'h1ff70, 18'h1ff71, 18'h1ff73, 18'h1ff74, 18'h1ff75, 18'h1ff77, 18'h1ff78, 18'h1ff7a, 18'h1ff7b,
        18'h1ff7c, 18'h1ff7e, 18'h1ff7f, 18'h1ff81, 18'h1ff82, 18'h1ff83, 18'h1ff85, 18'h1ff86, 18'h1ff87, 18'h1ff89,
        18'h1ff8a, 18'h1ff8c, 18'h1ff8d, 18'h1ff8e, 18'h1ff90, 18'h1ff91, 18'h1ff93, 18'h1ff94, 18'h1ff95, 18'h1ff97,
        18'h1ff98, 18'h1ff99, 18'h1ff9b, 18'h1ff9c, 18'h1ff9e, 18'h1ff9f, 18'h1ffa0, 18'h1ffa2, 18'h1ffa3, 18'h1ffa5,
        18'h1ffa6, 18'h1ffa7, 18'h1ffa9, 18'h1ffaa, 18'h1ffab, 18'h1ffad, 18'h1ffae, 18'h1ffb0, 18'h1ffb1, 18'h1ffb2,
        18'h1ffb4, 18'h1ffb5, 18'h1ffb7, 18'h1ffb8, 18'h1ffb9, 18'h1ffbb, 18'h1ffbc, 18'h1ffbd, 18'h1ffbf, 18'h1ffc0,
        18'h1ffc2, 18'h1ffc3, 18'h1ffc4, 18'h1ffc6, 18'h1ffc7, 18'h1ffc9, 18'h1ffca, 18'h1ffcb, 18'h1ffcd, 18'h1ffce,
        18'h1ffcf, 18'h1ffd1, 18'h1ffd2, 18'h1ffd4, 18'h1ffd5, 18'h1ffd6, 18'h1ffd8, 18'h1ffd9, 18'h1ffdb, 18'h1ffdc,
        18'h1ffdd, 18'h1ffdf, 18'h1ffe0, 18'h1ffe2, 18'h1ffe3, 18'h1ffe4, 18'h1ffe6, 18'h1ffe7, 18'h1ffe8, 18'h1ffea,
        18'h1ffeb, 18'h1ffed, 18'h1ffee, 18'h1ffef, 18'h1fff1, 18'h1fff2, 18'h1fff4, 18'h1fff5, 18'h1fff6, 18'h1fff8,
        18'h1fff9, 18'h1fffa, 18'h1fffc, 18'h1fffd, 18'h1ffff, 18'h20000
    };

    gc_rom #(.WIDTH(18), .DEPTH(256), .WORDS(COARSE)) u_coarse (.clk(clk), .s_addr(s_coarse), .m_data(m_coarse));
    gc_rom #(.WIDTH(18), .DEPTH(256), .WORDS(FINE)) u_fine (.clk(clk), .s_addr(s_fine), .m_data(m_fine));
endmodule

`default_nettype wire
