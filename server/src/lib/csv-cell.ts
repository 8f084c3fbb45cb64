/** A cell of a CSV file (RFC 4180). Text that a spreadsheet would run as a formula gets an apostrophe before it. */
export const csvCell = (value: string) =>
  `"${(/^[=+\-@\t\r\0]/.test(value) ? `'${value}` : value).replaceAll('"', '""').replaceAll('\0', '')}"`
