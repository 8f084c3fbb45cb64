export type Part = { content?: string | Buffer; field?: string; filename?: string | null; type?: string }
export const MULTIPART = { 'content-type': 'multipart/form-data; boundary=cut' }

export const multipart = (parts: Part[]) =>
  Buffer.concat([
    ...parts.flatMap(({ content = '', field = 'file', filename = 'a.csv', type }) => [
      Buffer.from(
        `--cut\r\ncontent-disposition: form-data; name="${field}"${filename === null ? '' : `; filename="${filename}"`}\r\n${type ? `content-type: ${type}\r\n` : ''}\r\n`,
      ),
      Buffer.from(content),
      Buffer.from('\r\n'),
    ]),
    Buffer.from('--cut--\r\n'),
  ])
