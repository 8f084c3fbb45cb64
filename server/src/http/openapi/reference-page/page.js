// A file of its own because the content security policy allows no inline script.
/* global SwaggerUIBundle */
{
  const { searchParams } = new URL(location.href)
  let projectId = ''

  applyTheme()
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', applyTheme)
  new MutationObserver(makeAccessible).observe(document.querySelector('#reference'), { childList: true, subtree: true })
  start()

  async function start() {
    const [api] = await Promise.all([readJson('/openapi.json'), showCaller()])
    SwaggerUIBundle({
      dom_id: '#reference',
      spec: forThisPage(api),
      presets: [SwaggerUIBundle.presets.apis],
      layout: 'BaseLayout',
      deepLinking: true,
      docExpansion: 'list',
      filter: true,
      tryItOutEnabled: true,
      displayRequestDuration: true,
      defaultModelsExpandDepth: -1,
      // A key that somebody enters stays in the memory of this page.
      persistAuthorization: false,
      validatorUrl: null,
      plugins: [calmer],
      requestInterceptor: addCaller,
    })
  }

  /** One origin needs no choice of servers, and a link inside a button is no use: opening an operation changes the URL anyway. */
  function calmer() {
    return {
      components: { DeepLink: ({ text }) => text, ServersContainer: () => null },
      wrapComponents: { Webhooks: onlyFoundWebhooks },
      fn: { opsFilter: search },
    }
  }

  /** The library searches operations only: webhooks are found by the same words. */
  function onlyFoundWebhooks(Original, { React }) {
    return (props) => {
      const phrase = props.layoutSelectors.currentFilter()
      const all = props.specSelectors.selectWebhooksOperations() ?? {}
      const summaryOf = ([{ operation }]) => operation?.getIn?.(['operation', 'summary']) ?? operation?.operation?.summary
      const found = Object.entries(all).filter(
        ([name, operations]) => typeof phrase !== 'string' || hasWords(['post', name, summaryOf(operations), 'webhooks'], phrase),
      )
      const specSelectors = { ...props.specSelectors, selectWebhooksOperations: () => Object.fromEntries(found) }
      return React.createElement(Original, { ...props, specSelectors })
    }
  }

  function hasWords(texts, phrase) {
    const text = texts.join(' ').toLowerCase()
    return phrase
      .toLowerCase()
      .split(/\s+/)
      .every((word) => text.includes(word))
  }

  /** Sections with the operations that have every word in their name, path, method or section. The browser finds only those in sight. */
  function search(sections, phrase) {
    const isFound = (operation, section) => {
      const { method, path } = operation.toObject()
      return hasWords([method, path, operation.getIn(['operation', 'summary']), section], phrase)
    }
    return sections
      .map((section, name) => section.update('operations', (operations) => operations.filter((each) => isFound(each, name))))
      .filter((section) => section.get('operations').size > 0)
  }

  /** The library has lists of choices without a name, and examples that scroll but cannot be reached with the keyboard. */
  function makeAccessible() {
    for (const field of document.querySelectorAll('.operation-filter-input:not([aria-label])')) {
      field.placeholder = 'Search by name, path or section'
      field.setAttribute('aria-label', 'Search operations')
    }
    for (const example of document.querySelectorAll('pre.microlight:not([tabindex])')) example.tabIndex = 0
    for (const choice of document.querySelectorAll('[data-param-name] select:not([aria-label])')) {
      choice.setAttribute('aria-label', choice.closest('[data-param-name]').dataset.paramName)
    }
  }

  async function readJson(path) {
    const response = await fetch(path)
    if (!response.ok) throw new Error(`${path}: ${response.status}`)
    return response.json()
  }

  /** Requests go to this origin, by whatever name it was opened. The page sends session and project by itself, so only keys can be entered. */
  function forThisPage(api) {
    const { session, projectId: _, ...keys } = api.components.securitySchemes
    for (const operation of Object.values(api.paths).flatMap((methods) => Object.values(methods))) {
      operation.security = (operation.security ?? []).filter((way) => !('session' in way))
    }
    const components = { ...api.components, securitySchemes: keys }
    return { ...api, servers: [{ url: location.origin }], tags: orderTags(api), components }
  }

  /** What programs call comes first: sections that take a key, in the order of the document. */
  function orderTags({ paths }) {
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
    const names = [...new Set(operations.map(({ tags }) => tags[0]))]
    const takesKey = (name) => operations.some(({ tags, security }) => tags[0] === name && security.length > 0)
    return [...names.filter(takesKey), ...names.filter((name) => !takesKey(name))].map((name) => ({ name }))
  }

  /** A key that was entered counts; otherwise the signed-in user calls for the chosen project. */
  function addCaller(request) {
    if (request.headers.Authorization) request.credentials = 'omit'
    else if (projectId) request.headers['X-Project-Id'] = projectId
    return request
  }

  async function showCaller() {
    const caller = document.querySelector('#caller')
    // Asked only with a cookie: browsers log every 401 as an error.
    const projects = document.documentElement.dataset.signedIn === 'true' ? await readJson('/users/@me/projects').catch(() => []) : []
    if (projects.length === 0) {
      const link = Object.assign(document.createElement('a'), { href: '/sign-in', textContent: 'Sign in' })
      return caller.append(link, ' to try requests out in your project, or enter a key under “Authorize”.')
    }
    const picker = document.createElement('select')
    for (const { id, name } of projects) picker.append(new Option(name, id))
    picker.value = projects.some(({ id }) => id === searchParams.get('project')) ? searchParams.get('project') : projects[0].id
    projectId = picker.value
    picker.addEventListener('change', () => {
      projectId = picker.value
      history.replaceState(null, '', `?project=${encodeURIComponent(projectId)}${location.hash}`)
    })
    const label = document.createElement('label')
    label.append('Try requests out in ', picker)
    caller.append(label)
  }

  /** The choice of the dashboard, or that of the system. */
  function applyTheme() {
    const isDark = (readTheme() ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark'
    document.documentElement.classList.toggle('dark-mode', isDark)
  }

  function readTheme() {
    try {
      return localStorage.getItem('theme')
    } catch {
      return null // storage is blocked: follow the system
    }
  }
}
