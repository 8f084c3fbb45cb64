import manifest from '../../../../package.json' with { type: 'json' }

/** The version of Sterna: that of the package, here and everywhere it is shown. */
export const VERSION = manifest.version
