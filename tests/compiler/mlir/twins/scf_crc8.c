int crc8(const unsigned char data[restrict 32])
{
    int crc = 0;
    for (int i = 0; i < 32; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 128 ? crc << 1 ^ 7 : crc << 1) & 255;
    }
    return crc;
}
