const [FIRST_SEGMENT, END, SCAN] = [0xc0, 0xd9, 0xda]
const isRestart = (marker: number) => marker >= 0xd0 && marker <= 0xd8

/** Number of scans, that is, of passes a decoder makes over a JPEG. A marker is 0xff and its type; other 0xff bytes precede a 0 or lie in a segment. */
export function countScans(jpeg: Buffer) {
  let scans = 0
  for (let at = jpeg.indexOf(0xff, 2); at !== -1 && at + 3 < jpeg.length; at = jpeg.indexOf(0xff, at)) {
    const marker = jpeg[at + 1]!
    if (marker === END) break
    if (marker === SCAN) scans++
    if (marker === 0xff) at += 1
    else if (marker < FIRST_SEGMENT || isRestart(marker)) at += 2
    else at += 2 + jpeg.readUInt16BE(at + 2)
  }
  return scans
}
