// Which packages an installation consists of, by package-lock.json: those that the server needs, directly or not.

const WORKSPACE = 'server'

/** Entries of the lock file, by their path in an installation. */
function reachable({ packages }) {
  const found = new Map()
  const visit = (path, { dependencies = {}, optionalDependencies = {}, peerDependencies = {} }) => {
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const place = placeOf(packages, path, name)
      if (!place || found.has(place)) continue
      found.set(place, packages[place])
      visit(place, packages[place])
    }
  }
  visit(WORKSPACE, packages[WORKSPACE])
  return found
}

/** As Node looks for a package: in the folder of the package that needs it, then in the folders above. Undefined for an optional one. */
function placeOf(packages, from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(folder.lastIndexOf('/node_modules/'), 0))) {
    const place = folder ? `${folder}/node_modules/${name}` : `node_modules/${name}`
    if (packages[place]) return place
    if (!folder) return undefined
  }
}

const withoutWorkspace = (path) => path.slice(path.startsWith(`${WORKSPACE}/`) ? WORKSPACE.length + 1 : 0)

/** The lock file of the package, with the versions and checksums of ours. */
export function shrinkwrap(manifest, lock) {
  const { name, version, license, engines, bin, dependencies, optionalDependencies } = manifest
  const packages = { '': { name, version, license, engines, bin, dependencies, optionalDependencies } }
  for (const [path, entry] of [...reachable(lock)].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const { dev: _, devOptional: __, peer: ___, ...kept } = entry
    packages[withoutWorkspace(path)] = kept
  }
  return { name, version, lockfileVersion: lock.lockfileVersion, requires: true, packages }
}

export const listPackages = (lock) =>
  [...reachable(lock)]
    .map(([path, { version, license }]) => ({
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      license,
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
