/** How the command line of this installation is called: `npm run sterna --` in a clone, `npx sterna` from the package. */
export const STERNA = process.env.STERNA_COMMAND ?? 'npm run sterna --'
