// VitePress's own theme, without its font: no request for what a machine has.
import DefaultTheme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import NotFound from './NotFound.vue';
import './style.css';

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'not-found': () => h(NotFound) }),
};
