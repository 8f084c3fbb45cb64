/** Values that may be left out, or undefined: what a schema reads from a request. */
export type Given<Values> = { [Name in keyof Values]?: Values[Name] | undefined }
